import { customElement } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { beyond, Chart, roomy, type Size } from './chart.ts';
import { curves } from './loss-chart.ts';
import { positionCurves, type Lab } from '../lab.ts';
import { testLengths } from '../settings.ts';

// Loss at each position of the longest test sequences: where in the sequence it breaks.
@customElement('lengthwise-position-chart')
export class PositionChart extends Chart {
  get heading() { return this.lab && !this.empty ? this.t.positionTitle(testLengths(this.lab.settings).at(-1)!) : this.t.positionTitleEmpty; }
  get upwards() { return this.t.lossAxis; }
  protected get along() { return this.t.position; }
  protected get emptyText() { return this.t.untested; }
  protected get empty() { return !this.lab || positionCurves(this.lab, testLengths(this.lab.settings).at(-1)!).length === 0; }

  protected draw(lab: Lab, size: Size): Plot.PlotOptions {
    const longest = testLengths(lab.settings).at(-1)!;
    const dots = positionCurves(lab, longest);
    const { length } = lab.settings;
    return {
      x: { type: 'log', base: 2, domain: [1, longest], ticks: roomy(Array.from({ length: 8 }, (_, i) => 4 ** i).filter((n) => n <= longest), length, size), tickFormat: String },
      y: { label: null, ticks: 5, tickSize: 0, nice: true, domain: dots.length ? undefined : [0, 1], axis: dots.length ? 'left' : null },
      marks: [
        beyond(length, longest, size, { longer: this.t.longer, trained: this.t.trained(length) }),
        Plot.gridY({ stroke: 'var(--lw-line)', strokeOpacity: 1, ticks: 5 }),
        ...curves(this, dots, size, this.t.position),
      ],
    };
  }
}

declare global { interface HTMLElementTagNameMap { 'lengthwise-position-chart': PositionChart } }
