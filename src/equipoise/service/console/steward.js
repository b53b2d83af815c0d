// The steward's pages: tables, one table, the audit log.
import { get, key, post } from './api.js';
import { act, bars, facts, field, form, h, number, percent, select, stateOf, swap, table, when } from './dom.js';
import * as charts from './charts.js';
import { jobs } from './jobs.js';

const go = (path) => { window.location.hash = `#/${path}`; };
const again = () => window.dispatchEvent(new Event('hashchange'));
const amount = (name, value, properties) => h('input', { name, type: 'number', step: 'any', min: '0', required: true, value, ...properties });
const whole = (name, value) => h('input', { name, type: 'number', step: '1', min: '1', required: true, value });
const state = (text, bad) => h('span', { class: `badge ${bad ? 'bad' : 'free'}` }, text);

async function tables() {
  const [found, files] = await Promise.all([get('tables'), get('files')]);
  return h('section', {},
    h('h1', {}, 'Tables'),
    found.length
      ? h('div', { class: 'grid' }, found.map((one) => h('article', { class: 'panel' },
        h('h2', {}, h('a', { href: `#/tables/${one.name}` }, one.name), ' ', one.frozen && state('frozen', true)),
        charts.gauge(one.budget),
        h('p', { class: 'small quiet' }, `${one.num_analysts} ${one.num_analysts === 1 ? 'analyst' : 'analysts'}; ${one.online ? 'open for questions' : 'not open for questions'}`))))
      : h('p', { class: 'empty' }, 'No table is registered yet.'),
    h('div', { class: 'panel' }, h('h2', {}, 'Register a table'), registration(files)));
}

function registration(files) {
  if (!files.tables.length || !files.schemas.length) {
    return h('p', { class: 'empty' }, 'There is no table with a schema under the folder that the server was started with (--root). Put a table there, draft its schema with `equipoise schema TABLE -o SCHEMA.toml`, check it, and reload.');
  }
  return form([
    h('p', { class: 'quiet' }, 'Nothing is uploaded: these are files that the server can read.'),
    h('div', { class: 'grid' },
      field('Table', select('source', files.tables.map((name) => [name]))),
      field('Schema', select('schema_file', files.schemas.map((name) => [name])), 'Checked and confirmed; its name is the table’s.'),
      field('Total data budget, epsilon', amount('epsilon', '4'), 'Over everything that is ever released.'),
      field('Delta of the data budget', amount('delta', '1e-8')),
      field('Total analyst budget, epsilon', amount('analyst_epsilon', '4'), 'Hides analysts’ questions from each other.'),
      field('Delta of the analyst budget', amount('analyst_delta', '1e-8'))),
  ], 'Register', async (given) => {
    const made = await post('tables', { source: given.source, schema_file: given.schema_file, ...numbers(given, 'epsilon', 'delta', 'analyst_epsilon', 'analyst_delta') });
    go(`tables/${made.name}`);
  });
}

const listed = (text) => {
  const names = text.split(',').map((name) => name.trim()).filter(Boolean);
  return names.length ? names : null;
};

const numbers = (given, ...names) => Object.fromEntries(names.map((name) => [name, Number(given[name])]));

const TABS = [['', 'Budget'], ['analysts', 'Analysts'], ['releases', 'Releases'], ['batches', 'Batches'], ['log', 'Log']];

async function one(name, tab = '') {
  const found = await get(`tables/${encodeURIComponent(name)}`);
  const body = { '': budget, analysts, releases, batches, log: tableLog }[tab] || budget;
  return h('section', {},
    h('h1', {}, name, ' ', found.frozen && state('frozen', true)),
    h('nav', { class: 'tabs', 'aria-label': 'About this table' }, TABS.map(([path, title]) =>
      h('a', { href: `#/tables/${name}${path && `/${path}`}`, 'aria-current': path === tab && 'page' }, title))),
    await body(found));
}

async function budget(found) {
  const spending = await get(`tables/${found.name}/spending`);
  return [
    h('div', { class: 'grid' },
      h('div', { class: 'panel' }, h('h2', {}, 'Data budget'), charts.gauge(spending.budget)),
      h('div', { class: 'panel' }, h('h2', {}, 'Analyst budget'),
        spending.analyst_budget ? charts.gauge(spending.analyst_budget)
          : h('p', { class: 'empty' }, `Nothing has been spent yet of epsilon ${number(found.analyst_epsilon)} at delta ${number(found.analyst_delta, 2)}.`)),
      h('div', { class: 'panel' }, h('h2', {}, 'The table'),
        facts([['file', found.source], ['schema', found.schema_file], ['registered', when(found.created)]]),
        h('p', {}, found.frozen
          ? act('Unfreeze', async () => { await post(`tables/${found.name}/unfreeze`); again(); })
          : act('Freeze', async () => { await post(`tables/${found.name}/freeze`); again(); }, {
            class: 'danger tiny', confirm: 'Freeze this table? Nobody can ask or release anything from it until you unfreeze it.',
          })))),
    h('div', { class: 'panel' }, h('h2', {}, 'Spending over time'), charts.history(spending.history, spending.budget.total_epsilon)),
    h('div', { class: 'panel' }, h('h2', {}, 'What it was spent on'),
      spending.runs.length
        ? table('Entries of the ledger, oldest first; rho adds up, exactly', ['entry', 'what', 'when', 'state', 'spent (rho)', 'reserved (rho)'],
          spending.runs.map((run) => [h('code', {}, run.run.slice(0, 12)), [run.what, ' ', events(found.name, run.run)], when(run.created), run.state, rho(run.spent_rho), run.state === 'open' ? rho(run.reserved_rho) : '']), [4, 5])
        : h('p', { class: 'empty' }, 'Nothing has been spent yet.')),
    h('div', { class: 'panel' }, h('h2', {}, 'Questions one by one'), online(found)),
  ];
}

// What an entry was charged for, shown on demand.
function events(name, run) {
  const list = h('div', { class: 'small', 'aria-live': 'polite' });
  return [act('events', async () => {
    const found = await get(`tables/${name}/spending/${run}`);
    list.replaceChildren(...(found.length ? found.map((one) => h('div', {}, `${number(one.times, 9)} × ${one.words}: rho ${number(one.rho)}`)) : ['none yet']));
  }), list];
}

const rho = (text) => {
  const [over, under = '1'] = text.split('/');
  return h('span', { title: text }, number(Number(over) / Number(under)));
};

function online(found) {
  const how = found.online;
  if (how) {
    return [
      facts([
        ['mode', how.mode],
        how.reason && ['why', how.reason],
        ['places', `${found.num_analysts} of ${how.num_analysts} analysts`],
        ['questions each', number(how.queries_each, 9)],
        ['error bar', `${bars(how)} (all at once, 95 %)`],
        ['hides analysts from each other', how.protects_analysts ? 'yes' : 'no'],
      ]),
      h('p', {}, h('a', { href: `/v1/tables/${found.name}/statement`, download: `${found.name}-statement.json` }, 'Download the statement')),
      h('p', {}, act('Close for questions', async () => { await post(`tables/${found.name}/online/close`); again(); }, {
        class: 'danger tiny', confirm: 'End the questions for everybody? What was not spent is free again; the table can be opened anew.',
      })),
    ];
  }
  return form([
    h('p', { class: 'quiet' }, 'Analysts ask; answers come from shared synthetic data while it is right, and with fresh noise when it is not. The whole cost is taken now.'),
    h('div', { class: 'grid' },
      field('Mechanism', select('mode', [['online', 'online: private for analysts too'], ['pmw', 'pmw: private for the people in the table'], ['noise', 'noise: every answer with noise of its own']])),
      field('Data budget, epsilon', amount('epsilon', '1')),
      field('Analyst budget, epsilon', amount('analyst_epsilon', '1')),
      field('Analysts, at most', whole('num_analysts', '20')),
      field('Questions each, at most', whole('queries_each', '500')),
      field('Columns', h('input', { name: 'columns', placeholder: 'all' }), 'Separated by commas. Few are needed for shared synthetic data.')),
  ], 'Open for questions', async (given) => {
    await post(`tables/${found.name}/online`, { mode: given.mode, columns: listed(given.columns), ...numbers(given, 'epsilon', 'analyst_epsilon', 'num_analysts', 'queries_each') });
    again();
  });
}

async function analysts(found) {
  const path = `tables/${found.name}/analysts`;
  const made = h('div', { 'aria-live': 'polite' });
  const box = h('div', { id: 'analysts' });
  const reveal = (name, given) => {
    made.replaceChildren(h('div', { class: 'token' },
      h('p', {}, `The token of ${name}, good until `, when(given.expires), '. It is shown only now: copy it and pass it on safely.'),
      h('code', { id: 'token' }, given.token)));
    made.scrollIntoView({ block: 'nearest' });
  };
  const buttons = (one) => [
    act('Renew', async () => { reveal(one.name, await post(`${path}/${one.id}/renew`, {})); await draw(); }, { 'data-key': `renew ${one.id}`, confirm: `Make a new token for ${one.name}? The old one stops at once.` }), ' ',
    one.state === 'active' && act('Revoke', async () => { await post(`${path}/${one.id}/revoke`); await draw(); }, { class: 'danger tiny', 'data-key': `revoke ${one.id}`, confirm: `Revoke the token of ${one.name}?` }),
  ];
  async function draw() {
    const list = await get(path);
    swap(box, list.length
      ? table('What each has used, in all sessions and collections, and which of it was paid for one by one; never what they asked', ['name', 'token', 'until', 'asked', 'paid', ''],
        list.map((one) => [one.name, state(one.state, one.state !== 'active'), when(one.expires), number(one.asked, 9), number(one.paid, 9), buttons(one)]), [3, 4])
      : h('p', { class: 'empty' }, 'Nobody is invited yet.'));
  }
  await draw();
  return [
    h('div', { class: 'panel' }, h('h2', {}, 'Analysts'), box),
    made,
    h('div', { class: 'panel' }, h('h2', {}, 'Invite an analyst'),
      form([h('div', { class: 'grid' },
        field('Name', h('input', { name: 'name', required: true, maxlength: 200, autocomplete: 'off' })),
        field('Days that the token is good', amount('days', '90')))], 'Invite', async (given, node) => {
        reveal(given.name, await post(path, { name: given.name, days: Number(given.days) }));
        node.reset();
        await draw();
      })),
  ];
}

async function releases(found) {
  return [
    h('div', { class: 'panel' }, h('h2', {}, 'Releases and statements'), await jobs(found.name)),
    h('div', { class: 'panel' }, h('h2', {}, 'Make a release'),
      form([
        h('div', { class: 'grid' },
          field('Epsilon', amount('epsilon', '1')),
          field('Workload', h('input', { name: 'workload', value: '3-way', required: true }), 'What must come out right: 2-way, 3-way, …'),
          field('Method', h('input', { name: 'method', value: 'auto', required: true }), 'auto chooses; `equipoise methods` lists them.'),
          field('Columns', h('input', { name: 'columns', placeholder: 'all' }), 'Separated by commas.')),
        h('label', {}, h('input', { type: 'checkbox', name: 'shared' }), ' Share it with the analysts of this table'),
      ], 'Start', async (given) => {
        await post(`tables/${found.name}/releases`, {
          epsilon: Number(given.epsilon), workload: given.workload, method: given.method, columns: listed(given.columns), shared: given.shared === 'on',
        }, { idempotency: key() });
        again();
      })),
  ];
}

async function batches(found) {
  const list = await get(`tables/${found.name}/collections`);
  return [
    h('div', { class: 'panel' }, h('h2', {}, 'Collections'),
      list.length
        ? table('Batches are answered all at once when a collection is closed', ['id', 'mode', 'opened', 'queries each', 'state', ''],
          list.map((one) => [h('code', {}, one.id), one.mode, when(one.created), number(one.queries_each, 9), stateOf(one),
            one.state === 'open' ? [act('Close and answer', async () => { await post(`collections/${one.id}/close`); again(); }, { confirm: 'Take no more batches and answer all of them? This spends the budget of the collection.' }), ' ',
              act('Withdraw', async () => { await post(`collections/${one.id}/withdraw`); again(); }, { class: 'danger tiny', confirm: 'Withdraw this call? Nothing is spent, and the batches are not answered.' })]
              : one.job && h('a', { href: `#/tables/${found.name}/releases` }, one.state === 'answered' ? 'Statement' : 'Progress')]), [3])
        : h('p', { class: 'empty' }, 'No batches were called for yet.')),
    h('div', { class: 'panel' }, h('h2', {}, 'Call for batches'),
      form([h('div', { class: 'grid' },
        field('Mechanism', select('mode', [['per-query', 'per-query: hides any one query'], ['per-analyst', 'per-analyst: hides all queries of any one analyst'], ['apart', 'apart: a model for each analyst'], ['noise', 'noise: every answer with noise of its own']])),
        field('Data budget, epsilon', amount('epsilon', '1')),
        field('Analyst budget, epsilon', amount('analyst_epsilon', '1')),
        field('Analysts, at most', whole('num_analysts', '20')),
        field('Queries each, at most', whole('queries_each', '500')),
        field('Columns', h('input', { name: 'columns', placeholder: 'all' }), 'Separated by commas.'))], 'Call', async (given) => {
        await post(`tables/${found.name}/collections`, { mode: given.mode, columns: listed(given.columns), ...numbers(given, 'epsilon', 'analyst_epsilon', 'num_analysts', 'queries_each') });
        again();
      })),
  ];
}

const PAGE = 200; // lines of the log that the server sends at a time

const line = (entry) => [
  when(entry.at), h('span', { title: entry.actor }, entry.name ?? entry.actor), entry.action, entry.table ?? '',
  [entry.about && `${entry.about} `, entry.detail && h('code', {}, entry.detail)],
];

async function entries(query) {
  const found = await get(`log?${query}`);
  if (!found.length) return h('p', { class: 'empty' }, 'Nothing has happened yet.');
  const box = h('div', {});
  const draw = (list, more) => {
    swap(box, table('Newest first', ['when', 'who', 'what', 'table', 'about'], list.map(line)), more && act('Show older lines', async () => {
      const older = await get(`log?${query}&before=${list.at(-1).id}`);
      draw([...list, ...older], older.length === PAGE);
    }, { 'data-key': 'older' }));
  };
  draw(found, found.length === PAGE);
  return box;
}

const tableLog = async (found) => h('div', { class: 'panel' }, await entries(`table=${encodeURIComponent(found.name)}`));
const log = async () => h('section', {}, h('h1', {}, 'Audit log'), h('div', { class: 'panel' }, await entries('')));

export const pages = [
  { path: 'tables', title: 'Tables', show: (parts) => (parts[0] ? one(parts[0], parts[1]) : tables()) },
  { path: 'log', title: 'Audit log', show: log },
];
