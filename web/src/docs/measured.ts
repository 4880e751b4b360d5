import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { stretches, type Stretch, type Tested } from 'virtual:stretch-records';
import { base } from '../theme.ts';
import { Localised } from '../localised.ts';
import { beyond, labels, logTicks } from '../charts/chart.ts';
import { shortTitle } from '../dress.ts';
import { batch } from '../settings.ts';
import type { Descriptor } from '../engine.ts';

type Point = { length: number; mean: number; sd: number };
const points = (tests: Tested[] = []): Point[] => tests.flatMap(({ length, mean, sd }) => (mean === undefined ? [] : [{ length, mean, sd: sd ?? 0 }]));
/** A mean, or a deviation with as many decimals as its mean `of`. */
export function reading(task: Stretch['task'], value: number, of = value): string {
  if (task !== 'text') return `${(100 * value).toFixed(1)} %`;
  return value.toFixed(of < 100 ? 2 : 1);
}

/** What every picture of measurements says below itself. */
export function protocol(t: Localised['t'], { task, steps, trainLength, seeds, command }: Stretch): unknown {
  return html`${t.docs.measured.protocol(t.tasks[task], steps, batch, trainLength, seeds)} <code>${command}</code>`;
}

// How one encoding does past the length it was trained on, beside three that everybody knows: measured, not computed here.
@customElement('lengthwise-measured')
export class Measured extends Localised {
  static override styles = [base, css`
    :host { container-type: inline-size; }
    .figures { display: grid; gap: 28px; }
    figure { min-width: 0; break-inside: avoid; display: grid; grid-template-columns: minmax(0, 460px) minmax(0, 1fr); gap: 0 36px; align-items: start; }
    h3 { grid-column: 1 / -1; }
    @container (max-width: 940px) { figure { grid-template-columns: minmax(0, 1fr); } }
    svg { display: block; font: 12px var(--lw-sans); font-variant-numeric: tabular-nums; overflow: visible; max-width: 100%; }
    table { border-collapse: collapse; margin: 22px 0 4px; font-size: 12px; }
    th, td { text-align: right; font-weight: 400; padding: 2px 0 2px 18px; white-space: nowrap; vertical-align: bottom; }
    thead th { white-space: normal; }
    th:first-child { text-align: left; padding-left: 0; }
    thead th { color: var(--lw-muted); border-bottom: 1px solid var(--lw-line); }
    thead .own { font-weight: 600; color: var(--lw-ink); }
    .scroll { overflow-x: auto; }
    small { display: block; margin-top: 8px; max-width: 78ch; color: var(--lw-muted); }
    code { font-size: 11px; }
  `];
  @property({ attribute: false }) descriptor!: Descriptor;
  @property({ attribute: false }) catalogue: Descriptor[] = [];
  @state() private width = 0;
  private readonly observer = new ResizeObserver(([entry]) => { this.width = Math.floor(entry!.contentRect.width); });

  override connectedCallback() { super.connectedCallback(); this.observer.observe(this); }
  override disconnectedCallback() { super.disconnectedCallback(); this.observer.disconnect(); }

  override render() {
    return html`<div class="figures">${stretches.filter(({ encodings }) => encodings[this.descriptor.experiment]).map((stretch) => this.figure(stretch))}</div>`;
  }

  private figure(stretch: Stretch) {
    const { t, language } = this, { task, encodings, testLengths } = stretch, own = this.descriptor.experiment;
    const specs = [...new Set([own, 'nope', 'rope', 'alibi'])].filter((spec) => encodings[spec]);
    const name = (spec: string) => shortTitle(spec, this.catalogue, language);
    const axis = task === 'text' ? t.perplexityAxis : t.accuracyAxis;
    const cell = ({ mean, sd, refused }: Tested) => html`<td>${refused !== undefined ? '–' : reading(task, mean!)}${sd === undefined ? nothing : html` <span class="quiet">± ${reading(task, sd, mean)}</span>`}</td>`;
    const refused = encodings[own]!.tests.find((test) => test.refused)?.refused;
    return html`<figure aria-label="${t.tasks[task]}${t.colon}${axis}">
      <h3>${t.tasks[task]}${t.colon}${axis}</h3>
      <div aria-hidden="true">${this.width ? this.plot(stretch, specs, name) : nothing}</div>
      <div><div class="scroll" tabindex="0" role="region" aria-label=${t.docs.measured.numbers}><table><thead><tr><th scope="col">${t.testLength}</th>${specs.map((spec) => html`<th scope="col" class=${spec === own ? 'own' : ''}>${name(spec)}</th>`)}</tr></thead>
        <tbody>${testLengths.map((length, i) => html`<tr><th scope="row">${length}</th>${specs.map((spec) => cell(encodings[spec]!.tests[i]!))}</tr>`)}</tbody></table></div>
      ${refused ? html`<small lang="en">${refused}</small>` : nothing}
      <small>${protocol(t, stretch)}</small></div></figure>`;
  }

  private plot({ task, encodings, trainLength, testLengths }: Stretch, specs: string[], name: (spec: string) => string) {
    const size = { width: Math.min(this.width, 460), height: 250, margins: { top: 26, right: 96, bottom: 30, left: 44 } };
    const lines = specs.map((spec) => ({ spec, points: points(encodings[spec]!.tests), stroke: spec === specs[0] ? `var(--lw-${this.descriptor.doors[0] ?? 'none'})` : 'var(--lw-muted)' }));
    const all = lines.flatMap((line) => line.points), least = Math.min(...all.map((p) => p.mean)), most = Math.max(...all.map((p) => p.mean));
    const y = task === 'text' ? { type: 'log', domain: [0.95 * least, 1.08 * most], ticks: logTicks(0.95 * least, 1.08 * most), tickFormat: String } as const
      : { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: (v: number) => `${100 * v} %` } as const;
    const low = (p: Point) => Math.max(p.mean - p.sd, y.domain[0]!), high = (p: Point) => Math.min(p.mean + p.sd, y.domain[1]!);
    return Plot.plot({
      width: size.width, height: size.height, marginTop: size.margins.top, marginRight: size.margins.right, marginBottom: size.margins.bottom, marginLeft: size.margins.left,
      style: { background: 'none', color: 'var(--lw-ink)' },
      x: { type: 'log', base: 2, domain: [testLengths[0]! / 1.19, testLengths.at(-1)!], ticks: testLengths, tickFormat: String, label: null, tickSize: 4 },
      y: { ...y, label: null, tickSize: 0 },
      marks: [
        beyond(trainLength, testLengths.at(-1)!, size, { longer: this.t.longer, trained: '' }),
        Plot.gridY({ stroke: 'var(--lw-line)', strokeOpacity: 1, ticks: y.ticks }),
        [...lines].reverse().map(({ spec, points: line, stroke }) => (spec === specs[0] ? [
          Plot.areaY(line, { x: 'length', y1: low, y2: high, fill: stroke, fillOpacity: 0.16 }),
          Plot.lineY(line, { x: 'length', y: 'mean', stroke, strokeWidth: 2.5 }), Plot.dot(line, { x: 'length', y: 'mean', fill: stroke, r: 3.2 }),
        ] : Plot.lineY(line, { x: 'length', y: 'mean', stroke, strokeWidth: 1.2, strokeDasharray: { nope: '2 3', rope: '7 3' }[spec] ?? '' }))),
        labels(lines.flatMap(({ spec, points: line, stroke }) => {
          const end = line.at(-1);
          if (!end) return [];
          const note = end.length < testLengths.at(-1)! ? this.t.refusedPast(end.length) : undefined;
          return [{ text: name(spec), x: end.length, y: end.mean, stroke, opacity: 1, note }];
        }), size, lines.map((line) => line.points.map((p) => ({ x: p.length, y: p.mean })))),
      ],
    });
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-measured': Measured } }
