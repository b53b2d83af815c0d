// The query builder: conditions on columns, and the text that stands for them, always the server's own words.
import { post } from './api.js';
import { field, h, select } from './dom.js';

const quoted = (text, sign) => sign + text.replaceAll(sign, sign + sign) + sign;

// A condition on one column: which of its values count.
function condition(columns, changed, remove) {
  const values = h('div', {});
  const chooser = select('column', columns.map((column) => [column.name]), { 'aria-label': 'Column' });
  let chosen = () => [];

  function draw() {
    const column = columns.find((found) => found.name === chooser.value);
    if (column.ordered && column.labels.length > 2) {
      const options = column.labels.map((label, i) => [i, label]);
      const [from, to] = [select('from', options), select('to', options)];
      to.value = String(column.labels.length - 1);
      chosen = () => column.labels.slice(Number(from.value), Number(to.value) + 1);
      values.replaceChildren(h('div', { class: 'row' }, field('From', from), field('To', to)));
    } else {
      const boxes = column.labels.map((label, i) => h('input', { type: 'checkbox', value: label, checked: i === 0 }));
      chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
      values.replaceChildren(h('div', { class: 'values' }, boxes.map((box) => h('label', {}, box, ` ${box.value}`))));
    }
    changed();
  }
  chooser.addEventListener('change', draw);
  values.addEventListener('change', changed);
  const node = h('fieldset', { class: 'condition' }, h('legend', {}, 'Records where'),
    h('div', { class: 'row' }, chooser, columns.length && h('button', { type: 'button', class: 'plain tiny', onclick: () => { node.remove(); remove(node); } }, 'Remove')),
    values);
  node.text = () => {
    const list = chosen();
    return list.length ? `${quoted(chooser.value, '`')} in {${list.map((label) => quoted(label, "'")).join(', ')}}` : null;
  };
  draw();
  return node;
}

export function builder(columns, text) {
  const list = h('div', {});
  let nodes = [];
  let turn = 0;

  async function changed() {
    const parts = nodes.map((node) => node.text()).filter(Boolean);
    const now = (turn += 1);
    if (!parts.length) return;
    try {
      const found = await post('text', { query: parts.join(' and ') });
      if (now === turn) text.set(found.text);
    } catch (error) {
      if (now === turn) text.fail(error.message);
    }
  }
  function add() {
    const node = condition(columns, () => changed(), (gone) => { nodes = nodes.filter((one) => one !== gone); changed(); });
    nodes.push(node);
    list.append(node);
    changed();
  }
  add();
  return h('div', {}, list, h('button', { type: 'button', class: 'plain tiny', onclick: add }, 'Add a condition'));
}
