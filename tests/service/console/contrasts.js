// What cannot be read: text of less than 4.5 to 1 against what is behind it, and borders of fields of less than 3 to 1
// (WCAG 2.2, AA).
() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const ratio = (one, two) => {
    const [more, less] = [light(one), light(two)].sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };
  const found = [];
  for (const node of document.querySelectorAll('body *')) {
    const words = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!words || !node.checkVisibility() || node.closest('svg, noscript, .skip')) continue;
    const value = ratio(rgb(getComputedStyle(node).color), behind(node));
    if (value < 4.5) found.push(`${node.tagName} ${node.textContent.trim().slice(0, 20)}: ${value.toFixed(2)}`);
  }
  for (const node of document.querySelectorAll('input, select, textarea')) {
    const value = ratio(rgb(getComputedStyle(node).borderTopColor), behind(node.parentElement));
    if (node.type !== 'checkbox' && value < 3) found.push(`border ${node.name}: ${value.toFixed(2)}`);
  }
  return found;
}
