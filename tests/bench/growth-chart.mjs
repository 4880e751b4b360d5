// The curves of a run of growth.mjs on logarithmic axes, where a law is a straight line: dashed, through the last point.
import { libraries } from '../../dist/cli/chart.js';

const colors = { full: '#4269d0', window: '#efb118', linear: '#3ca951' };
const lengths = ['full', 'window', 'linear'];
const panels = [
  { title: 'time, ms', by: 'length', ids: lengths, value: 'median', laws: true },
  { title: 'memory beyond inputs and output, KB', by: 'length', ids: lengths, value: 'scratch' },
  { title: 'one more token, ms', by: 'tokens before', ids: ['decode'], value: 'median', laws: true },
  { title: 'time, ms', by: 'heads', ids: ['heads'], value: 'median', laws: true },
  { title: 'time, ms', by: 'width of a head', ids: ['width'], value: 'median', laws: true },
  { title: 'training step, ms', by: 'parameters', ids: ['model'], value: 'median', laws: true },
];
const [width, height] = [430, 300];

/** An SVG file. */
export async function drawGrowth({ curves, engine, variant }) {
  const { Plot, document } = await libraries();
  const drawn = panels.map((panel, i) => {
    const svg = plot(Plot, document, panel, curves.filter(({ id }) => panel.ids.includes(id)));
    svg.setAttribute('x', i % 2 * width), svg.setAttribute('y', Math.floor(i / 2) * height);
    return svg.outerHTML;
  });
  const text = [`lengthwise, ${variant === 'relaxed' ? 'relaxed' : 'baseline'} SIMD, ${engine}, one thread.`, 'Dashed: the law, through the last point.',
    ...curves.flatMap(({ id, law, setting, note }) => [`${id}: exponent ${law}; ${setting}`, ...(note ? [`\u2003${note}`] : [])])];
  const legend = text.map((line, i) => `<text x="24" y="${3 * height + 30 + 20 * i}">${line}</text>`);
  const bottom = 3 * height + 30 + 20 * text.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${2 * width}" height="${bottom}" viewBox="0 0 ${2 * width} ${bottom}" ` +
    `font-family="system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>${drawn.join('')}${legend.join('')}</svg>\n`;
}

function plot(Plot, document, { title, by, value, laws }, curves) {
  const at = (point) => (value === 'scratch' ? point.scratchBytes / 1024 : point.median);
  const points = curves.flatMap(({ id, points: all }) => all.map((point) => ({ id, x: point.x, y: at(point), low: point.low, high: point.high })));
  const straight = curves.flatMap(({ id, law, points: all }) => all.map(({ x }) => ({ id, x, y: at(all.at(-1)) * (x / all.at(-1).x) ** law })));
  const color = ({ id }) => colors[id] ?? '#4269d0';
  // Curves that end in the same place share a name.
  const last = curves.map(({ id, points: all }) => ({ id, x: all.at(-1).x, y: at(all.at(-1)) }));
  const ends = last.filter(({ y }, i) => last.findIndex((other) => other.y === y) === i)
    .map((end) => ({ ...end, color: color(end), names: last.filter(({ y }) => y === end.y).map(({ id }) => id).join('\n') }));
  const xs = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  return Plot.plot({
    document, width, height, marginLeft: 52, marginRight: 60, marginTop: 40, marginBottom: 44,
    style: { fontFamily: 'system-ui, sans-serif', fontSize: '12px', background: 'white' },
    x: { type: 'log', base: 2, label: by, ticks: xs.filter((_, i) => (xs.length - 1 - i) % 2 === 0 || xs.length < 6), tickFormat: (x) => (x < 1e4 ? String(x) : x.toLocaleString('en')) },
    y: { type: 'log', label: title, grid: true, nice: true, ticks: 4, tickFormat: '~r' },
    marks: [
      laws ? Plot.line(straight, { x: 'x', y: 'y', z: 'id', stroke: color, strokeDasharray: '4 3', strokeOpacity: 0.8 }) : null,
      laws ? Plot.ruleX(points, { x: 'x', y1: 'low', y2: 'high', stroke: color, strokeOpacity: 0.5, strokeWidth: 3 }) : null,
      Plot.line(points, { x: 'x', y: 'y', z: 'id', stroke: color, strokeWidth: 2 }),
      Plot.dot(points, { x: 'x', y: 'y', fill: color, r: 3 }),
      curves.length > 1 ? Plot.text(ends, { x: 'x', y: 'y', text: 'names', fill: 'color', textAnchor: 'start', dx: 8, fontWeight: 600 }) : null,
    ],
    color: { type: 'identity' },
  });
}
