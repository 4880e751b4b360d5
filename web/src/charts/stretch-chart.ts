import { customElement } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { beyond, Chart, labels, logTicks, roomy, type Size } from './chart.ts';
import { measureOf, stretch, type Lab, type Point } from '../lab.ts';
import { testLengths } from '../settings.ts';

// Perplexity or accuracy against test length.
@customElement('lengthwise-stretch-chart')
export class StretchChart extends Chart {
  get heading() { return this.t.stretchTitle; }
  get upwards() { return this.lab && measureOf(this.lab.settings.task) === 'accuracy' ? this.t.accuracyAxis : this.t.perplexityAxis; }
  protected get along() { return this.t.testLength; }
  protected get emptyText() { return this.t.stretchEmpty; }
  protected get empty() { return !this.lab || stretch(this.lab).length === 0; }

  protected draw(lab: Lab, size: Size): Plot.PlotOptions {
    const points = stretch(lab), { settings } = lab;
    const accuracy = measureOf(settings.task) === 'accuracy';
    const lengths = testLengths(settings);
    const lines = settings.encodings.map((encoding) => points.filter((p) => p.encoding === encoding)).filter((line) => line.length);
    const y = accuracy ? { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1] } : perplexities(points);
    const number = (v: number) => (accuracy ? `${(v * 100).toFixed(1)} %` : v.toPrecision(4));
    const tip = (p: Point) => [
      this.name(p.encoding), `${this.t.testLength} ${p.length}`,
      `${accuracy ? this.t.accuracy : this.t.perplexity} ${number(p.mean)}${p.seeds > 1 ? ` (${number(p.low)} – ${number(p.high)})` : ''}`,
      ...(p.progress < 1 ? [this.t.soFar(Math.round(p.progress * 100))] : []),
    ].join('\n');
    return {
      x: { type: 'log', base: 2, domain: [lengths[0]!, lengths.at(-1)!], ticks: roomy(lengths, settings.length, size), tickFormat: String },
      y: accuracy
        ? { ...y, label: null, tickFormat: (v: number) => `${Math.round(v * 100)} %`, tickSize: 0 }
        : { type: 'log', ...y, label: null, tickFormat: tidy, tickSize: 0 },
      marks: [
        beyond(settings.length, lengths.at(-1)!, size, { longer: this.t.longer, trained: this.t.trained(settings.length) }),
        Plot.gridY({ stroke: 'var(--lw-line)', strokeOpacity: 1, ticks: y.ticks }),
        lines.map((line) => {
          const { stroke, dash } = this.dress(line[0]!.encoding), opacity = this.opacity(line[0]!.encoding);
          const done = line.every((p) => p.progress >= 1); // thin while training goes on: these numbers will change
          return [
            settings.seeds > 1 ? Plot.areaY(line, { x: 'length', y1: 'low', y2: 'high', fill: stroke, fillOpacity: 0.14 * opacity }) : null,
            Plot.lineY(line, { x: 'length', y: 'mean', stroke, strokeOpacity: opacity, strokeDasharray: dash, strokeWidth: done ? 2.25 : 1.25 }),
            Plot.dot(line, { x: 'length', y: 'mean', fill: stroke, fillOpacity: opacity, r: done ? 3 : 2 }),
          ];
        }),
        labels(lines.map((line) => {
          const end = line.at(-1)!, { encoding } = end;
          const refused = end.length < lengths.at(-1)! && lab.refusal(encoding, lengths.at(-1)!) !== undefined;
          return { text: this.name(encoding), x: end.length, y: end.mean, stroke: this.dress(encoding).stroke, opacity: this.opacity(encoding), note: refused ? this.t.refusedPast(end.length) : undefined };
        }), size, lines.map((line) => line.map((p) => ({ x: p.length, y: p.mean }))), this.t.moreLines),
        Plot.tip(points, Plot.pointer({ x: 'length', y: 'mean', title: tip, lineHeight: 1.3 })),
      ],
    };
  }
}

function perplexities(points: Point[]): { domain: [number, number]; ticks: number[] } {
  if (!points.length) return { domain: [1, 2], ticks: [] };
  const low = 0.96 * Math.min(...points.map((p) => p.low)), high = Math.max(1.25 * low, 1.04 * Math.max(...points.map((p) => p.high)));
  return { domain: [low, high], ticks: logTicks(low, high) };
}

const tidy = (v: number) => (v >= 1e5 ? v.toExponential(0) : String(Number(v.toPrecision(3))));
declare global { interface HTMLElementTagNameMap { 'lengthwise-stretch-chart': StretchChart } }
