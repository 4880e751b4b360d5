import * as Plot from '@observablehq/plot';
import { css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Curve, Growth } from 'virtual:bench-records';
import { labels } from '../charts/chart.ts';
import { base } from '../theme.ts';
import { Localised } from '../localised.ts';

type Point = Curve['points'][number];
const hues: Record<string, string> = { full: 'rotation', window: 'input', linear: 'bias' };
const hue = (id: string) => `var(--lw-${hues[id] ?? 'rotation'})`;

const whole = (value: number) => Math.round(value).toLocaleString('en');
const figure = (value: number) => Number(value.toPrecision(3)).toLocaleString('en', { maximumSignificantDigits: 3 });
const time = ({ median }: Point) => median, memory = ({ scratchBytes }: Point) => scratchBytes! / 1024;

// A recorded run of growth: time against length, heads, width and model size, on axes where a law is a straight line.
@customElement('lengthwise-growth')
export class GrowthElement extends Localised {
  static override styles = [base, css`
    h2 { font: 600 17px/1.3 var(--lw-serif); margin-bottom: 4px; }
    p { max-width: 78ch; font-size: 13px; }
    .plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 240px), 1fr)); gap: 24px 30px; margin: 16px 0; }
    svg { display: block; width: 100%; height: auto; overflow: visible; }
    details summary { cursor: pointer; color: var(--lw-muted); min-height: 24px; }
    .tables { display: flex; flex-wrap: wrap; gap: 20px 44px; margin-top: 8px; }
    table { border-collapse: collapse; font-size: 12px; }
    caption { text-align: left; font-weight: 600; padding-bottom: 4px; }
    th, td { text-align: right; font-weight: 400; padding: 2px 0 2px 18px; }
    th:first-child { padding-left: 0; }
    thead th { color: var(--lw-muted); border-bottom: 1px solid var(--lw-line); }
  `];
  @property({ attribute: false }) run!: Growth;

  override render() {
    const { t: { bench: { growth: words, recordedOn } }, run, run: { engine, date, clock, machine, curves } } = this;
    const [byLength, ...others] = [...new Set(curves.map(({ by }) => by))].map((by) => curves.filter((curve) => curve.by === by));
    return html`<section aria-labelledby="growth"><h2 id="growth">${words.title}</h2>
      <p class="quiet">${words.lead} ${recordedOn({ engine: `${engine}, ${this.t.bench.variants[run.variant]}`, date, clock, ...machine, versions: '' })}</p>
      <div class="plots">${this.figure(byLength!, words.time, time, true)}${this.figure(byLength!, words.memoryAxis, memory, false)}
        ${others.map((group) => this.figure(group, words.time, time, true))}</div>
      <details><summary>${words.numbers}</summary><div class="tables">${curves.map((curve) => this.table(curve))}</div></details></section>`;
  }

  private figure(curves: Curve[], axis: string, value: (point: Point) => number, lawful: boolean) {
    const { growth: words } = this.t.bench;
    return html`<figure role="img" aria-label="${axis}, ${words.by[curves[0]!.by]}: ${curves.map(({ id }) => words.curves[id]).join(', ')}">
      <div aria-hidden="true">${this.plot(curves, axis, value, lawful)}</div></figure>`;
  }

  private plot(curves: Curve[], axis: string, value: (point: Point) => number, lawful: boolean) {
    const { growth: words } = this.t.bench;
    const points = curves.flatMap(({ id, points: all }) => all.map((point) => ({ id, x: point.x, y: value(point) })));
    const laws = curves.flatMap(({ id, law, points: all }) => all.map(({ x }) => ({ id, x, y: value(all.at(-1)!) * (x / all.at(-1)!.x) ** law })));
    const xs = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
    const stroke = ({ id }: { id: string }) => hue(id);
    const covered = new Set(curves.filter(({ points: mine }, i) => curves.slice(i + 1).some(({ points: others }) => mine.every((point, at) => others[at] && value(point) === value(others[at]!)))).map(({ id }) => id));
    const strokeWidth = ({ id }: { id: string }) => (covered.has(id) ? 5 : 1.6); // what lies under another is seen on both sides of it
    const size = { width: 270, height: 210, margins: { left: 42, right: curves.length > 1 ? 86 : 16, top: 28, bottom: 36 } }, { margins } = size;
    return Plot.plot({
      width: size.width, height: size.height, marginLeft: margins.left, marginRight: margins.right, marginTop: margins.top, marginBottom: margins.bottom, style: { background: 'none', color: 'var(--lw-ink)' },
      x: { type: 'log', base: 2, label: words.by[curves[0]!.by], ticks: xs.filter((_, i) => (xs.length - 1 - i) % Math.ceil(xs.length / 3) === 0), tickFormat: whole, tickSize: 4 },
      y: { type: 'log', label: axis, grid: true, nice: true, ticks: 4, tickFormat: figure, tickSize: 0 },
      marks: [
        lawful ? Plot.line(laws, { x: 'x', y: 'y', z: 'id', stroke, strokeDasharray: '3 3', strokeOpacity: 0.7 }) : null,
        Plot.line(points, { x: 'x', y: 'y', z: 'id', stroke, strokeWidth }),
        Plot.dot(points, { x: 'x', y: 'y', fill: stroke, r: 2.5 }),
        curves.length > 1 ? labels(curves.map(({ id, points: all }) => ({ text: words.curves[id]!, x: all.at(-1)!.x, y: value(all.at(-1)!), stroke: hue(id), opacity: 1 })), size) : null,
      ],
    });
  }

  private table({ id, by, law, points }: Curve) {
    const { growth: words } = this.t.bench, measured = points.some(({ scratchBytes }) => scratchBytes !== undefined);
    return html`<table><caption>${words.curves[id]} (${words.law(law)})</caption>
      <thead><tr>${[words.by[by], words.time, words.exponent, ...(measured ? [words.memory] : [])].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${points.map(({ x, median, exponent, scratchBytes }) => html`<tr><th scope="row">${whole(x)}</th><td>${figure(median)}</td>
        <td>${exponent?.toFixed(2) ?? ''}</td>${measured ? html`<td>${whole(scratchBytes! / 1024)} KB</td>` : ''}</tr>`)}</tbody></table>`;
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-growth': GrowthElement } }
