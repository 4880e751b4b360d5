import { customElement } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { Chart, labels, type Size } from './chart.ts';
import { lossCurves, type Dot, type Lab } from '../lab.ts';

// Training loss against step, smoothed, live.
@customElement('lengthwise-loss-chart')
export class LossChart extends Chart {
  get heading() { return this.t.lossTitle; }
  get upwards() { return this.t.lossAxis; }
  protected get along() { return this.t.step; }
  protected get emptyText() { return this.t.untested; }
  protected get empty() { return !this.lab?.started.length; }

  protected draw(lab: Lab, size: Size): Plot.PlotOptions {
    const dots = lossCurves(lab), steps = Math.max(...lab.runs.map((run) => run.steps));
    const room = Math.max(2, (size.width - size.margins.left - size.margins.right) / 60);
    return {
      x: { domain: [1, Math.max(2, steps)], ...(steps > room ? { ticks: room } : { ticks: whole(Math.max(2, steps)), tickFormat: String }) },
      y: { label: null, ticks: 5, tickSize: 0, nice: true, domain: dots.length ? undefined : [0, 1], axis: dots.length ? 'left' : null },
      marks: [Plot.gridY({ stroke: 'var(--lw-line)', strokeOpacity: 1, ticks: 5 }), ...curves(this, dots, size, this.t.step)],
    };
  }
}

const whole = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

interface Dressed { t: Chart['t']; lab?: Lab; dress: Chart['dress']; name: Chart['name']; lit: string }

// Lines with labels at their ends and a tooltip, for charts with one value per encoding and x.
const fewPoints = 12; // so few are drawn as dots too: a single one makes no line
export function curves(chart: Dressed, dots: Dot[], size: Size, what: string): Plot.Markish[] {
  const lines = chart.lab!.settings.encodings.map((e) => dots.filter((d) => d.encoding === e)).filter((line) => line.length);
  const opacity = (e: string) => (!chart.lit || chart.lit === e ? 1 : 0.15);
  return [
    ...lines.map((line) => {
      const { stroke, dash } = chart.dress(line[0]!.encoding);
      return [
        line.length <= fewPoints ? Plot.dot(line, { x: 'x', y: 'y', fill: stroke, fillOpacity: opacity(line[0]!.encoding), r: 2.5 }) : null,
        Plot.lineY(line, { x: 'x', y: 'y', stroke, strokeDasharray: dash, strokeWidth: 1.5, strokeOpacity: opacity(line[0]!.encoding) }),
      ];
    }),
    labels(lines.map((line) => {
      const end = line.at(-1)!;
      return { text: chart.name(end.encoding), x: end.x, y: end.y, stroke: chart.dress(end.encoding).stroke, opacity: opacity(end.encoding) };
    }), size, lines, chart.t.moreLines),
    Plot.tip(dots, Plot.pointer({ x: 'x', y: 'y', title: (d: Dot) => `${chart.name(d.encoding)}\n${what} ${Math.round(d.x)}\n${d.y.toFixed(3)}`, lineHeight: 1.3 })),
  ];
}

declare global { interface HTMLElementTagNameMap { 'lengthwise-loss-chart': LossChart } }
