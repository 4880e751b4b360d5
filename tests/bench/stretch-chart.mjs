// The picture of all encodings: a row for each, from the length it was trained on (ring) to the longest (dot), best first.
import { libraries } from '../../dist/cli/chart.js';

const hues = { ids: '#877700', input: '#c77d00', rotation: '#1267b5', bias: '#00805c', content: '#a23f88', pattern: '#b8321b', scale: '#2a8cb4', value: '#7a5a3a', none: '#77736b' };

/** @param doors by encoding, the door that it opens first */
export async function drawAll({ task, trainLength, testLengths, encodings }, doors) {
  const { Plot, document } = await libraries();
  const text = task === 'text', measure = text ? 'perplexity' : 'accuracy', longest = testLengths.at(-1);
  const hue = ({ encoding }) => hues[doors[encoding] ?? 'none'];
  const dots = encodings.flatMap(({ encoding, tests }) => tests.flatMap((test) => (test[measure] ? [{ encoding, length: test.length, x: test[measure].mean * (text ? 1 : 100) }] : [])));
  const end = (encoding) => dots.find((dot) => dot.encoding === encoding && dot.length === longest)?.x;
  const better = text ? 1 : -1, order = encodings.map((e) => e.encoding).sort((a, b) => (end(a) === undefined) - (end(b) === undefined) || better * (end(a) - end(b)) || 0);
  const of = (length) => dots.filter((dot) => dot.length === length);
  const between = dots.filter((dot) => dot.length !== trainLength && dot.length !== longest);
  const svg = Plot.plot({
    document, width: 860, height: 70 + 17 * order.length, marginLeft: 290, marginRight: 24, marginTop: 44, marginBottom: 12,
    style: { fontFamily: 'system-ui, sans-serif', fontSize: '12px', background: 'white' },
    x: { axis: 'top', grid: true, labelArrow: 'none', label: `${text ? 'perplexity per byte' : 'right, %'}: ○ ${trainLength} tokens (trained)  · ${testLengths.slice(1, -1).join(', ')}  ● ${longest}`, ...(text ? { type: 'log', tickFormat: '~s', ticks: 8 } : { domain: [0, 100] }) },
    y: { domain: order, label: null, tickSize: 0 },
    marks: [
      Plot.ruleY(dots, Plot.groupY({ x1: 'min', x2: 'max' }, { x1: 'x', x2: 'x', y: 'encoding', stroke: (d) => hue(d), strokeOpacity: 0.45, strokeWidth: 2 })),
      Plot.dot(between, { x: 'x', y: 'encoding', fill: hue, r: 1.8 }),
      Plot.dot(of(longest), { x: 'x', y: 'encoding', fill: hue, r: 4.4 }),
      Plot.dot(of(trainLength), { x: 'x', y: 'encoding', fill: 'white', stroke: hue, strokeWidth: 1.8, r: 3.6 }),
    ],
    color: { type: 'identity' },
  });
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return `${svg.outerHTML}\n`;
}
