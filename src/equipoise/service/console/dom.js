// Elements without a framework. Text is always set as text, never as markup: nothing a server sends can become a script.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

let names = 0;

// A labelled input: the label is tied to it, and a hint is read with it.
export function field(text, input, hint) {
  const id = `f${(names += 1)}`;
  input.id = id;
  const label = h('label', { for: id }, text);
  if (!hint) return h('div', {}, label, input);
  input.setAttribute('aria-describedby', `${id}h`);
  return h('div', {}, label, input, h('span', { id: `${id}h`, class: 'quiet small' }, hint));
}

export const select = (name, options, properties) =>
  h('select', { name, ...properties }, options.map(([value, text]) => h('option', { value }, text ?? value)));

export const table = (caption, titles, rows, numbers = []) =>
  h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    h('table', {},
      h('caption', {}, caption),
      h('thead', {}, h('tr', {}, titles.map((title, i) => h('th', { scope: 'col', class: numbers.includes(i) && 'number' }, title)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell, i) => h('td', { class: numbers.includes(i) && 'number' }, cell)))))));

export const facts = (pairs) =>
  h('dl', {}, pairs.filter(Boolean).map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

export const when = (text) => {
  const date = new Date(text);
  return h('time', { datetime: text }, date.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' }));
};

export const number = (value, digits = 4) => (value && Math.abs(value) < 1e-4
  ? Number(value).toExponential(1).replace('.0e', 'e')
  : Number(value).toLocaleString('en', { maximumSignificantDigits: digits }));
export const percent = (value, digits = 2) => `${(100 * value).toFixed(digits)} %`;

// How far off answers can be: in mode noise none is free.
export const bars = (how) => (how.mode === 'noise'
  ? `± ${percent(how.paid_half_width)}; every answer has noise of its own, from the budget that is reserved`
  : `± ${percent(how.half_width)} for a free answer, ± ${percent(how.paid_half_width)} for a paid one`);

// A form whose button is off while its action runs, and which shows what went wrong beside it.
export function form(fields, text, action, options = {}) {
  const problem = h('p', { class: 'error', role: 'alert' });
  const button = h('button', { type: 'submit', class: options.class }, text);
  const node = h('form', {}, fields, h('div', { class: 'row' }, button, options.more), problem);
  node.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.textContent = '';
    button.disabled = true;
    try {
      await action(Object.fromEntries(new FormData(node)), node);
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
  return node;
}

// A button that does one thing, after a question when it cannot be undone.
export function act(text, action, { confirm: question, ...properties } = {}) {
  const button = h('button', { type: 'button', class: 'plain tiny', ...properties }, text);
  button.addEventListener('click', async () => {
    if (question && !window.confirm(question)) return;
    button.disabled = true;
    try {
      await action();
    } catch (error) {
      button.after(h('p', { class: 'error small', role: 'alert' }, error.message));
    } finally {
      button.disabled = false;
    }
  });
  return button;
}
