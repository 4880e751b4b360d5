import { customElement } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { Chart, labels, type Size } from './chart.ts';
import { lossCurves, type Dot, type Lab } from '../lab.ts';

// Training loss against step, smoothed, live.
@customElement('lengthwise-loss-chart')
export class LossChart extends Chart {
  protected get caption() { return `${this.t.lossTitle}: ${this.t.lossAxis}, ${this.t.step}`; }
  protected get emptyText() { return this.t.untested; }
  protected get empty() { return !this.lab?.started.length; }

  protected draw(lab: Lab, size: Size): Plot.PlotOptions {
    const dots = lossCurves(lab);
    return {
      x: { domain: [1, Math.max(2, lab.settings.steps)], label: this.t.step, labelAnchor: 'right', ticks: Math.max(2, size.width / 110), tickSize: 4 },
      y: { label: null, ticks: 5, tickSize: 0, nice: true, domain: dots.length ? undefined : [0, 1], axis: dots.length ? 'left' : null },
      marks: [Plot.gridY({ stroke: 'var(--lw-line)', strokeOpacity: 1, ticks: 5 }), ...curves(this, dots, size, this.t.step)],
    };
  }
}

interface Dressed { lab?: Lab; dress: Chart['dress']; name: Chart['name']; lit: string }

// Lines with labels at their ends and a tooltip, for charts with one value per encoding and x.
export function curves(chart: Dressed, dots: Dot[], size: Size, what: string): Plot.Markish[] {
  const lines = chart.lab!.settings.encodings.map((e) => dots.filter((d) => d.encoding === e)).filter((line) => line.length);
  const opacity = (e: string) => (!chart.lit || chart.lit === e ? 1 : 0.15);
  return [
    ...lines.map((line) => {
      const { stroke, dash } = chart.dress(line[0]!.encoding);
      return Plot.lineY(line, { x: 'x', y: 'y', stroke, strokeDasharray: dash, strokeWidth: 1.5, strokeOpacity: opacity(line[0]!.encoding) });
    }),
    labels(lines.map((line) => {
      const end = line.at(-1)!;
      return { text: chart.name(end.encoding), x: end.x, y: end.y, stroke: chart.dress(end.encoding).stroke, opacity: opacity(end.encoding) };
    }), size),
    Plot.tip(dots, Plot.pointer({ x: 'x', y: 'y', title: (d: Dot) => `${chart.name(d.encoding)}\n${what} ${Math.round(d.x)}\n${d.y.toFixed(3)}`, lineHeight: 1.3 })),
  ];
}

declare global { interface HTMLElementTagNameMap { 'lengthwise-loss-chart': LossChart } }
