// Pictures as SVG. Every one has a text beside it or in it that says the same.
import { h, number, percent, s } from './dom.js';

const isNarrow = () => window.innerWidth < 640;

export function gauge(budget) {
  const share = Math.min(1, budget.share_spent);
  const words = `${percent(share, 1)} of the budget is spent or reserved: epsilon ${number(budget.spent_epsilon)} of ${number(budget.total_epsilon)} at delta ${number(budget.delta, 2)}.`;
  return h('div', { class: 'gauge' },
    s('svg', { viewBox: '0 0 320 16', width: '320', role: 'img', 'aria-label': words },
      s('rect', { class: 'track', width: 320, height: 16, rx: 8 }),
      s('rect', { class: 'fill', width: share ? Math.max(8, 320 * share) : 0, height: 16, rx: 8 })),
    h('p', { class: 'small' }, words.replace('e-', 'e\u2011')), // a hyphen that does not break the line
    h('p', { class: 'small quiet' }, `Left: epsilon ${number(budget.left_epsilon)}, if it is spent at once. (Epsilons do not add up; rho does.)`));
}

export function history(points, total) {
  if (!points.length) return h('p', { class: 'empty' }, 'Nothing has been spent yet.');
  const [width, height, left, bottom] = [isNarrow() ? 320 : 900, 180, 56, 24];
  const first = Date.parse(points[0].at);
  const last = Math.max(Date.now(), first + 1000);
  const x = (time) => left + ((width - left - 10) * (time - first)) / (last - first);
  const y = (value) => height - bottom - ((height - bottom - 12) * value) / Math.max(total, points.at(-1).epsilon);
  let path = `M${x(first)},${y(0)}`;
  for (const point of points) path += `H${x(Date.parse(point.at))}V${y(point.epsilon)}`;
  path += `H${x(last)}`;
  const words = `Spending over time: ${points.length} ${points.length === 1 ? 'entry' : 'entries'}, now epsilon ${number(points.at(-1).epsilon)} of ${number(total)}.`;
  return s('svg', { viewBox: `0 0 ${width} ${height}`, width, role: 'img', 'aria-label': words },
    s('line', { class: 'axis', x1: left, x2: width, y1: y(0), y2: y(0) }),
    s('line', { class: 'limit', x1: left, x2: width, y1: y(total), y2: y(total) }),
    s('text', { x: left - 6, y: y(total) + 4, 'text-anchor': 'end' }, number(total)),
    s('text', { class: 'soft', x: left - 6, y: y(total) + 20, 'text-anchor': 'end' }, 'epsilon'),
    s('text', { x: left - 6, y: y(0) + 4, 'text-anchor': 'end' }, '0'),
    s('text', { class: 'soft', x: left, y: height - 6 }, new Date(first).toLocaleDateString()),
    s('text', { class: 'soft', x: width, y: height - 6, 'text-anchor': 'end' }, 'now'),
    s('path', { class: 'line', d: path }));
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// Shares as bars with whiskers: the truth is within all whiskers at once with probability 0.95. On a narrow screen a
// query stands above its bar, so that it can still be read.
export function answers(list) {
  const shown = list.slice(0, 60);
  const narrow = isNarrow();
  const [width, left, right, step] = narrow ? [320, 4, 60, 42] : [900, 330, 80, 24];
  const most = Math.max(1e-9, ...shown.map((answer) => Math.min(1, answer.share + (answer.half_width ?? 0))));
  const x = (value) => left + ((width - left - right) * Math.max(0, Math.min(most, value))) / most;
  const words = `Shares with error bars of ${shown.length} ${shown.length === 1 ? 'answer' : 'answers'}; the table below has the same numbers.`;
  const label = (text, top) => (narrow
    ? s('text', { x: left, y: top + 12 }, short(text, 44))
    : s('text', { x: left - 8, y: top + step / 2 + 4, 'text-anchor': 'end' }, short(text, 50)));
  return s('svg', { viewBox: `0 0 ${width} ${shown.length * step + 26}`, width, role: 'img', 'aria-label': words },
    s('line', { class: 'axis', x1: left, x2: left, y1: 0, y2: shown.length * step }),
    shown.map((answer, i) => {
      const middle = i * step + (narrow ? 27 : step / 2);
      const bar = answer.half_width ?? 0;
      const [low, high] = [x(answer.share - bar), x(answer.share + bar)];
      return s('g', {},
        s('title', {}, answer.text),
        label(answer.text, i * step),
        s('rect', { class: 'bar', x: left, y: middle - 7, width: Math.max(0, x(answer.share) - left), height: 14 }),
        bar ? s('path', { class: 'whisker', d: `M${low},${middle}H${high}M${low},${middle - 4}v8M${high},${middle - 4}v8` }) : null,
        s('circle', { class: `dot-${answer.source === 'hypothesis' ? 'free' : answer.source}`, cx: x(answer.share), cy: middle, r: 4 }),
        s('text', { x: width, y: middle + 4, 'text-anchor': 'end' }, percent(answer.share, 1)));
    }),
    s('text', { class: 'soft', x: left, y: shown.length * step + 18 }, '0 %'),
    s('text', { class: 'soft', x: width - right, y: shown.length * step + 18, 'text-anchor': 'end' }, percent(most, 1)));
}
