// The picture of an experiment: perplexity or accuracy against length, the trained length marked.

import type { Data } from '@observablehq/plot';
import type { ExperimentResult } from '../experiment.js';

interface Point {
  encoding: string;
  length: number;
  value: number;
  low: number;
  high: number;
}

const COLORS = ['#4269d0', '#efb118', '#ff725c', '#6cc5b0', '#3ca951', '#ff8ab7', '#a463f2', '#97bbf5', '#9c6b4e', '#9498a0'];

/** An SVG file. @throws when the libraries that draw it are not installed */
export async function drawStretch(result: ExperimentResult): Promise<string> {
  const { Plot, document } = await libraries();
  const points = measured(result);
  if (points.length === 0) throw new Error('there is nothing to draw: no encoding could be tested');
  const names = legend(result, points);
  const color = (name: string) => COLORS[names.indexOf(name) % COLORS.length]!;
  const text = result.task === 'text';
  const svg = Plot.plot({
    document: document as unknown as Document,
    width: 860, height: 480, marginRight: 200, marginLeft: 56, marginBottom: 40, marginTop: 32,
    style: { fontFamily: 'system-ui, sans-serif', fontSize: '13px', background: 'white' },
    x: { type: 'log', base: 2, ticks: result.testLengths, tickFormat: String, label: 'length (tokens)' },
    y: text ? { type: 'log', label: 'perplexity', grid: true, tickFormat: '~s' } : { domain: [0, 100], label: 'right (%)', grid: true },
    marks: [
      Plot.ruleX([result.trainLength], { stroke: '#666', strokeDasharray: '4 3' }),
      Plot.text([result.trainLength], { x: Plot.identity, text: () => 'trained', frameAnchor: 'top', dy: -14, fill: '#666' }),
      Plot.ruleX(points as unknown as Data, { x: 'length', y1: 'low', y2: 'high', stroke: (p: Point) => color(p.encoding), strokeWidth: 3, strokeOpacity: 0.35 }),
      Plot.lineY(points as unknown as Data, { x: 'length', y: 'value', z: 'encoding', stroke: (p: Point) => color(p.encoding), strokeWidth: 2 }),
      Plot.dot(points as unknown as Data, { x: 'length', y: 'value', fill: (p: Point) => color(p.encoding), r: 3 }),
      names.map((name, i) => Plot.text([name], { text: Plot.identity, frameAnchor: 'top-right', textAnchor: 'start', dx: 16, dy: i * 18, fill: color(name), fontWeight: 600 })),
    ],
    color: { type: 'identity' },
  });
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return `${svg.outerHTML}\n`;
}

export async function libraries() {
  try {
    const [Plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
    return { Plot, document: parseHTML('<!doctype html><html><body></body></html>').document };
  } catch (cause) {
    throw new Error('--svg needs two more packages: npm install @observablehq/plot linkedom', { cause });
  }
}

function measured({ task, encodings }: ExperimentResult): Point[] {
  return encodings.flatMap(({ encoding, tests }) => tests.flatMap((test) => {
    const spread = task === 'text' ? test.perplexity : test.accuracy;
    if (!spread || !Number.isFinite(spread.mean)) return [];
    const [factor, sd] = [task === 'text' ? 1 : 100, spread.sd ?? 0];
    // A spread larger than the mean would leave a logarithmic axis.
    const low = Math.max((spread.mean - sd) * factor, task === 'text' ? spread.mean / 2 : 0);
    return [{ encoding, length: test.length, value: spread.mean * factor, low, high: (spread.mean + sd) * factor }];
  }));
}

/** Names in the order of their curves' right ends, top first. */
function legend({ encodings }: ExperimentResult, points: Point[]): string[] {
  const end = (name: string) => points.filter((p) => p.encoding === name).at(-1)?.value ?? -Infinity;
  return encodings.map((e) => e.encoding).filter((name) => end(name) > -Infinity).sort((a, b) => end(b) - end(a));
}
