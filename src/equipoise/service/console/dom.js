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

// On a phone a row becomes a card and every cell carries its title (style.css); the roles keep it a table for those who
// hear it.
export const table = (caption, titles, rows, numbers = []) =>
  h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    h('table', { role: 'table' },
      h('caption', {}, caption),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, titles.map((title, i) => h('th', { scope: 'col', role: 'columnheader', class: numbers.includes(i) && 'number' }, title)))),
      h('tbody', { role: 'rowgroup' }, rows.map((row) => h('tr', { role: 'row' }, row.map((cell, i) => h('td', { role: 'cell', 'data-title': titles[i], class: numbers.includes(i) && 'number' }, cell)))))));

// Draw something anew without taking the focus from whoever is on one of its buttons.
export function swap(box, ...nodes) {
  const key = box.contains(document.activeElement) && document.activeElement.dataset.key;
  box.replaceChildren(...nodes.filter(Boolean));
  if (key) [...box.querySelectorAll('[data-key]')].find((node) => node.dataset.key === key)?.focus({ preventScroll: true });
}

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

// The state of a collection, in the word that is on the button which brings it about.
export const stateOf = (collection) => (collection.state === 'given up' ? 'withdrawn' : collection.state);

// How far off answers can be: in mode noise none is free.
export const bars = (how) => (how.mode === 'noise'
  ? `± ${percent(how.paid_half_width)}; every answer has noise of its own, from the budget that is reserved`
  : `± ${percent(how.half_width)} for a free answer, ± ${percent(how.paid_half_width)} for a paid one`);

// Said to be disabled, not made so: that would take the focus from it.
const busy = (button, yes) => (yes ? button.setAttribute('aria-disabled', 'true') : button.removeAttribute('aria-disabled'));
const isBusy = (button) => button.hasAttribute('aria-disabled');

// A form whose button is off while its action runs, and which shows what went wrong beside it.
export function form(fields, text, action, options = {}) {
  const problem = h('p', { class: 'error', role: 'alert' });
  const button = h('button', { type: 'submit', class: options.class }, text);
  const node = h('form', {}, fields, h('div', { class: 'row' }, button, options.more), problem);
  node.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isBusy(button)) return;
    problem.textContent = '';
    busy(button, true);
    try {
      await action(Object.fromEntries(new FormData(node)), node);
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      busy(button, false);
    }
  });
  return node;
}

// A button that does one thing, after a question when it cannot be undone.
export function act(text, action, { confirm: question, ...properties } = {}) {
  const button = h('button', { type: 'button', class: 'plain tiny', ...properties }, text);
  const problem = h('p', { class: 'error small', role: 'alert' });
  button.addEventListener('click', async () => {
    if (isBusy(button) || (question && !window.confirm(question))) return;
    problem.remove();
    busy(button, true);
    try {
      await action();
    } catch (error) {
      problem.textContent = error.message;
      button.after(problem);
    } finally {
      busy(button, false);
    }
  });
  return button;
}
