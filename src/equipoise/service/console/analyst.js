// The analyst's pages: asking, the schema, batches, downloads.
import { get, key, post, put } from './api.js';
import { act, bars, facts, field, form, h, number, percent, stateOf, swap, table, when } from './dom.js';
import { builder } from './builder.js';
import * as charts from './charts.js';

const WORDS = { hypothesis: ['free', 'free: from the shared synthetic data'], paid: ['paid', 'cost some of the table’s budget'], unverified: ['unverified', 'free, and not promised: what may be spent is spent'] };
const badge = (source) => h('span', { class: `badge ${WORDS[source][0]}`, title: WORDS[source][1] }, WORDS[source][0]);
const bar = (answer) => (answer.half_width === null ? 'not promised' : `± ${percent(answer.half_width)}`);

// What the words on the badges mean, for those that occur: a tip on a badge is out of reach of a finger or the keyboard.
const legend = (list) => h('p', { class: 'quiet small' },
  [...new Set(list.map((answer) => answer.source))].map((source) => `${WORDS[source][0]}: ${WORDS[source][1].replace(/^free: /, '').replace(/^free, and /, '')}. `));

const answerTable = (list) => [answerRows(list), legend(list)];
const answerRows = (list) => table('The truth is within all error bars at once with probability 0.95', ['query', 'share', 'error bar', 'count', 'source'],
  list.map((answer) => [h('code', {}, answer.text), percent(answer.share), bar(answer), number(Math.round(answer.count), 9), badge(answer.source)]), [1, 2, 3]);

const SHOWN = 50;

async function ask() {
  const mine = await get('table');
  const result = h('div', { 'aria-live': 'polite', id: 'result' });
  const left = h('span', {}, mine.left === null ? '' : number(mine.left, 9));
  const past = h('div', { class: 'panel' });
  const opened = new Set(); // marginals whose cells are shown, also when the list is drawn anew
  let turn = 0;
  let later = 0;
  const drawPast = async () => {
    const now = (turn += 1);
    const list = await get(`questions?most=${SHOWN}`);
    if (now === turn) swap(past, h('h2', {}, 'Your questions'), ...earlier(list, mine.name, opened)); // else a newer one is under way
  };
  await drawPast();
  const closed = mine.frozen ? 'The steward has frozen this table: nothing can be asked now.'
    : !mine.online ? 'The steward has not opened this table for questions yet.' : null;
  return h('section', {},
    h('h1', {}, 'Ask'),
    closed ? h('p', { class: 'empty' }, closed) : [
      h('div', { class: 'panel' },
        facts([
          ['table', `${mine.name}, ${number(mine.num_rows, 9)} records`],
          ['you may still ask', left],
          ['error bar', bars(mine.online)],
        ])),
      asking(mine, async (body) => {
        result.replaceChildren();
        const found = await post('questions', body, { idempotency: key() });
        left.textContent = number(found.left, 9);
        result.replaceChildren(answered(found.answers));
        result.scrollIntoView({ block: 'nearest' }); // on a phone it is below the other form
        clearTimeout(later);
        later = setTimeout(() => drawPast().catch(() => {}), 400);
      }),
      result,
    ],
    past);
}

function answered(list) {
  return h('div', { class: 'panel' }, h('h2', {}, list.length === 1 ? 'Answer' : `${list.length} answers`),
    list.length === 1 && [
      h('p', { class: 'big' }, percent(list[0].share), ' ', h('span', { class: 'quiet small' }, bar(list[0]))),
      h('p', {}, `About ${number(Math.round(list[0].count), 9)} records. `, badge(list[0].source)),
    ],
    charts.answers(list), answerTable(list));
}

function asking(mine, send) {
  const area = h('textarea', { name: 'query', required: true, spellcheck: 'false', maxlength: 2000 });
  const problem = h('p', { class: 'error small', role: 'alert' });
  const text = {
    set(words) { area.value = words; problem.textContent = ''; },
    fail(words) { problem.textContent = words; },
  };
  let timer = 0;
  area.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        await post('text', { query: area.value });
        problem.textContent = '';
      } catch (error) { problem.textContent = area.value ? error.message : ''; }
    }, 300);
  });
  const one = form([
    h('h2', {}, 'One query'), builder(mine.columns, text),
    field('As text', area, 'Made by the conditions above, or written by you: conditions joined by and, such as = != < >= in 30..39, in {a, b}, is missing; `names with spaces` in backquotes.'), problem,
  ], 'Ask', (given) => send({ query: given.query }));
  const cells = h('p', { class: 'quiet small' });
  const boxes = mine.columns.map((column) => h('input', { type: 'checkbox', value: column.name }));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const all = form([
    h('h2', {}, 'A marginal'),
    h('p', { class: 'quiet' }, 'All combinations of the values of some columns at once. Each counts as a question.'),
    h('fieldset', { onchange: () => {
      const size = chosen().reduce((product, name) => product * mine.columns.find((column) => column.name === name).labels.length, 1);
      cells.textContent = chosen().length ? `${number(size, 9)} questions` : '';
    } }, h('legend', {}, 'Columns'), h('div', { class: 'values' }, boxes.map((box) => h('label', {}, box, ` ${box.value}`)))),
    cells,
  ], 'Ask all', () => {
    if (!chosen().length) throw new Error('Choose at least one column.');
    return send({ marginal: chosen() });
  });
  return h('div', { class: 'grid' }, h('div', { class: 'panel' }, one), h('div', { class: 'panel' }, all));
}

function earlier(list, name, opened) {
  if (!list.length) return [h('p', { class: 'empty' }, 'You have asked nothing yet.')];
  const single = list.flatMap((question) => (question.answers.length === 1 ? question.answers : [])).slice(0, 20);
  return [
    single.length > 1 && charts.answers(single),
    table(list.length < SHOWN ? 'Newest first; only you see them' : `The last ${SHOWN}, newest first; only you see them`, ['when', 'asked', 'share', 'error bar', 'source'], list.map((question) => [
      when(question.asked),
      question.query ? h('code', {}, question.query) : [h('code', {}, `marginal of ${question.marginal.join(', ')}`), ' ', cells(question, opened)],
      question.answers.length === 1 ? percent(question.answers[0].share) : `${question.answers.length} cells`,
      question.answers.length === 1 ? bar(question.answers[0]) : '',
      question.answers.length === 1 ? badge(question.answers[0].source) : '',
    ]), [2, 3]),
    h('p', {}, h('a', { href: '/v1/questions.csv', download: `${name}-answers.csv` }, 'Download all your answers (CSV)')),
  ].filter(Boolean);
}

// The answers to a marginal that was asked before, shown on demand.
function cells(question, opened) {
  const box = h('div', { 'aria-live': 'polite' });
  const draw = () => {
    const open = opened.has(question.id);
    box.replaceChildren(...(open ? [charts.answers(question.answers), answerTable(question.answers)].flat() : []));
    button.textContent = open ? 'Hide' : 'Show';
    button.setAttribute('aria-expanded', String(open));
  };
  const button = act('Show', async () => {
    if (!opened.delete(question.id)) opened.add(question.id);
    draw();
  }, { 'data-key': `cells ${question.id}` });
  draw();
  return [button, box];
}

async function schema() {
  const mine = await get('table');
  const filter = h('input', { type: 'search', name: 'filter', autocomplete: 'off' });
  const list = h('div', {});
  const draw = () => {
    const word = filter.value.toLowerCase();
    const found = mine.columns.filter((column) => !word || column.name.toLowerCase().includes(word) || column.labels.some((label) => label.toLowerCase().includes(word)));
    list.replaceChildren(...(found.length ? found.map((column) => h('details', { class: 'panel', open: found.length <= 3 },
      h('summary', {}, h('strong', {}, column.name), h('span', { class: 'quiet' }, ` ${column.kind}${column.ordered ? ', ordered' : ''}, ${column.labels.length} values`)),
      h('ul', { class: 'values' }, column.labels.map((label) => h('li', {}, h('code', {}, label)))))) : [h('p', { class: 'empty' }, 'No column or value has that in its name.')]));
  };
  filter.addEventListener('input', draw);
  draw();
  return h('section', {}, h('h1', {}, `Schema of ${mine.name}`),
    h('p', { class: 'quiet' }, `${mine.columns.length} columns, ${number(mine.num_rows, 9)} records. This is public: it was declared, not read from the records.`),
    h('div', { class: 'panel' }, field('Find a column or a value', filter)), list);
}

async function batches(parts, person) {
  const list = await get(`tables/${person.table}/collections`);
  const shown = await Promise.all(list.map(async (one) => {
    let mine = null;
    try { mine = await get(`collections/${one.id}/batch`); } catch (error) { if (error.status !== 404) throw error; }
    return h('div', { class: 'panel' },
      h('h2', {}, 'Collection ', h('code', {}, one.id), ' ', h('span', { class: 'badge' }, stateOf(one))),
      mine && mine.answers ? [charts.answers(mine.answers), answerTable(mine.answers)]
        : one.state === 'open' ? handIn(one, mine)
          : h('p', { class: 'quiet' }, one.state === 'given up' ? 'The steward has withdrawn this call: nothing is answered.'
            : mine ? 'Your batch is being answered. Come back to this page in a while.' : 'You handed in no batch.'));
  }));
  return h('section', {}, h('h1', {}, 'Batches'),
    h('p', { class: 'quiet' }, 'Everybody’s batches are answered at once when the steward closes a collection.'),
    shown.length ? shown : h('p', { class: 'empty' }, 'The steward has not called for batches.'));
}

function handIn(one, mine) {
  const area = h('textarea', { name: 'queries', required: true, spellcheck: 'false' });
  area.value = mine ? mine.queries.map((query) => (typeof query === 'string' ? query : `marginal ${query.join(', ')}`)).join('\n') : '';
  const told = h('p', { class: 'free', role: 'status' }, mine ? 'Your batch is handed in; you may change it while the collection is open.' : '');
  return [told, form([
    field('Queries, one a line', area, `At most ${number(one.queries_each, 9)}. For all cells of a marginal: marginal sex, age`),
  ], mine ? 'Replace the batch' : 'Hand in', async (given) => {
    const lines = given.queries.split('\n').map((line) => line.trim()).filter(Boolean);
    const queries = lines.map((line) => (/^marginal\s/i.test(line) ? line.replace(/^marginal\s+/i, '').split(',').map((name) => name.trim()) : line));
    await put(`collections/${one.id}/batch`, { queries });
    told.textContent = 'Your batch is handed in; you may change it while the collection is open.';
  })];
}

async function downloads() {
  const [mine, shared] = await Promise.all([get('table'), get('shared')]);
  const rows = h('input', { name: 'rows', type: 'number', min: 1, max: 100000, value: 1000, required: true });
  return h('section', {}, h('h1', {}, 'Downloads'),
    h('div', { class: 'panel' }, h('h2', {}, 'Shared synthetic data'),
      mine.online && mine.online.mode !== 'noise' ? [
        h('p', { class: 'quiet' }, 'Rows drawn from the synthetic data that free answers come from, as it is now. They cost nothing.'),
        form([field('Rows', rows)], 'Download CSV', async (given) => {
          const link = h('a', { href: `/v1/synthetic.csv?rows=${encodeURIComponent(given.rows)}`, download: `${mine.name}-synthetic.csv` });
          link.click();
        }),
      ] : h('p', { class: 'empty' }, 'There is none: this table is not open for questions, or answers each with noise of its own.')),
    h('div', { class: 'panel' }, h('h2', {}, 'Releases'),
      shared.length ? table('Newest first', ['made', 'what', 'files'], shared.map((job) => [
        when(job.created), `${job.request.method}, ${job.request.workload}, epsilon ${job.request.epsilon}`,
        job.files.map((file) => h('div', {}, h('a', { href: `/v1/shared/${job.id}/${file}`, download: file }, file))),
      ])) : h('p', { class: 'empty' }, 'The steward has shared no release with you.')));
}

export const pages = [
  { path: 'ask', title: 'Ask', show: ask },
  { path: 'schema', title: 'Schema', show: schema },
  { path: 'batches', title: 'Batches', show: batches },
  { path: 'downloads', title: 'Downloads', show: downloads },
];
