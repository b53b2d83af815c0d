// The frame: who is signed in, which page is shown. Pages are functions that return an element.
import { Refusal, me, signIn, signOut } from './api.js';
import { field, form, h } from './dom.js';
import * as analyst from './analyst.js';
import * as steward from './steward.js';

const main = document.getElementById('main');
const header = document.getElementById('header');
let person = null;
let shown = 0;

const pages = { steward: steward.pages, analyst: analyst.pages };

function drawHeader(path) {
  header.replaceChildren(h('div', {},
    h('a', { class: 'name', href: '#/' }, 'Equipoise'),
    h('nav', { 'aria-label': 'Pages' }, person && pages[person.role].map((page) => page.title && h('a', {
      href: `#/${page.path}`, 'aria-current': path.split('/')[0] === page.path && 'page',
    }, page.title))),
    person && h('span', { class: 'quiet small' }, [...new Set([person.name, person.role])].join(', ') + (person.table ? ` of ${person.table}` : '')),
    person && h('button', { class: 'plain tiny', type: 'button', id: 'sign-out', onclick: leave }, 'Sign out')));
}

async function leave() {
  try { await signOut(); } catch { /* it is ended here in any case */ }
  person = null;
  window.location.hash = '#/';
  await show();
}

function signInPage() {
  const token = h('input', { name: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false', placeholder: 'eqp_…' });
  return h('section', {},
    h('h1', {}, 'Sign in'),
    h('div', { class: 'panel' },
      h('p', {}, 'With the token that the steward gave you. Stewards find theirs where the server was started.'),
      form([field('Token', token)], 'Sign in', async (given) => {
        person = await signIn(given.token);
        await show();
      })));
}

function failed(error) {
  return h('section', {},
    h('h1', {}, 'That did not work'),
    h('p', { class: 'error', role: 'alert' }, error.message),
    h('button', { type: 'button', onclick: show }, 'Try again'));
}

export async function show() {
  const turn = (shown += 1);
  const path = window.location.hash.replace(/^#\/?/, '');
  document.dispatchEvent(new Event('leave'));
  let content;
  try {
    if (!person) {
      try { person = await me(); } catch (error) { if (error.status !== 401) throw error; }
    }
    if (!person) content = signInPage();
    else {
      const list = pages[person.role];
      const parts = path.split('/').map(decodeURIComponent);
      const page = list.find((found) => found.path === parts[0]) || list[0];
      content = await page.show(parts.slice(1), person);
    }
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) {
      person = null;
      content = signInPage();
    } else content = failed(error);
  }
  if (turn !== shown) return;
  drawHeader(path || (person ? pages[person.role][0].path : ''));
  main.replaceChildren(content);
  const title = main.querySelector('h1');
  document.title = title ? `${title.textContent} · Equipoise` : 'Equipoise';
  if (turn > 1 && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
}

window.addEventListener('hashchange', show);
show();
