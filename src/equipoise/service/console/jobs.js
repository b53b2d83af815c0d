// The jobs of a table, kept up to date while one of them works.
import { get, post } from './api.js';
import { act, h, percent, swap, table, when } from './dom.js';

const UNFINISHED = ['waiting', 'working', 'cancelling'];

export async function jobs(name) {
  const box = h('div', { id: 'jobs', 'aria-live': 'off' });
  let stopped = false;
  document.addEventListener('leave', () => { stopped = true; }, { once: true });

  async function draw() {
    const list = await get(`tables/${name}/releases`);
    swap(box, list.length
      ? table('Newest first', ['begun', 'what', 'state', 'files', ''], list.map((job) => row(job, draw)))
      : h('p', { class: 'empty' }, 'No release was made yet.'));
    if (list.some((job) => UNFINISHED.includes(job.state))) {
      setTimeout(() => { if (!stopped) draw().catch(() => {}); }, 1000);
    }
  }
  await draw();
  return box;
}

function row(job, draw) {
  const what = job.kind === 'release' ? `${job.request.method}, ${job.request.workload}`
    : `${job.kind === 'collection' ? 'batches' : 'questions one by one'}, ${job.request.mode}`;
  const working = job.state === 'working'
    ? [h('progress', { value: job.progress, max: 1, 'aria-label': `${job.step}: ${percent(job.progress, 0)}` }), h('span', { class: 'small quiet' }, job.step)]
    : null;
  const stop = () => post(`releases/${job.id}/cancel`).then(draw);
  return [
    when(job.created),
    [`${what}, epsilon ${job.request.epsilon}`, job.shared && h('div', { class: 'small quiet' }, 'shared with analysts')],
    [h('span', { class: `badge ${job.state === 'failed' ? 'bad' : job.state === 'done' ? 'free' : ''}` }, job.state), working, job.message && h('p', { class: 'error small' }, job.message)],
    job.files.map((file) => h('div', {}, h('a', { href: `/v1/releases/${job.id}/${file}`, download: file }, file))),
    [
      ['waiting', 'working'].includes(job.state) && act('Cancel', stop, { class: 'danger tiny', 'data-key': `stop ${job.id}`, confirm: 'Cancel this? What it has spent stays spent.' }),
      job.state === 'failed' && act('Try again', () => post(`releases/${job.id}/resume`).then(draw), { 'data-key': `again ${job.id}` }), ' ',
      job.state === 'failed' && act('Give up', stop, { class: 'danger tiny', 'data-key': `stop ${job.id}`, confirm: 'Give this up? What it has spent stays spent.' }),
    ],
  ];
}
