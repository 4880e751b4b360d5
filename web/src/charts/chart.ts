// What the three charts share: size, live redraw that keeps the tooltip, direct labels, and a figure with a name.
import { css, html, type PropertyValues } from 'lit';
import { property } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { base } from '../theme.ts';
import { Localised } from '../localised.ts';
import type { Lab } from '../lab.ts';
import type { Wardrobe } from '../dress.ts';

export abstract class Chart extends Localised {
  static override styles = [base, css`
    :host { position: relative; min-width: 0; }
    figure { height: 100%; min-height: inherit; position: relative; }
    .plot { position: absolute; inset: 0; overflow: hidden; }
    .plot svg { display: block; font: 12px var(--lw-sans); font-variant-numeric: tabular-nums; overflow: visible; }
    .plot [aria-label="tip"] path { fill: var(--lw-raised); stroke: var(--lw-line); }
    .empty { position: absolute; inset: 0; display: grid; place-items: center; text-align: center; color: var(--lw-muted); padding: 0 12%; }
  `];
  @property({ attribute: false }) lab?: Lab;
  @property({ attribute: false }) version = 0;                       // the lab is changed in place; a new version redraws
  @property({ attribute: false }) dress: Wardrobe = () => ({ stroke: 'currentColor', dash: '' });
  @property({ attribute: false }) name: (spec: string) => string = (spec) => spec;
  @property() lit = '';                                              // the encoding to bring forward
  private size = { width: 0, height: 0 };
  private pointer?: { clientX: number; clientY: number };
  private readonly observer = new ResizeObserver(([entry]) => {
    this.size = entry!.contentRect;
    this.requestUpdate();
  });

  protected abstract get caption(): string;
  protected abstract get emptyText(): string;
  protected abstract get empty(): boolean; // nothing measured: axes alone, and `emptyText`
  protected abstract draw(lab: Lab, size: Size): Plot.PlotOptions;

  override connectedCallback() { super.connectedCallback(); this.observer.observe(this); }
  override disconnectedCallback() { super.disconnectedCallback(); this.observer.disconnect(); }

  get svg(): SVGSVGElement | null { return this.renderRoot.querySelector('.plot svg'); }

  override render() {
    return html`<figure role="img" aria-label=${this.caption}>
      <div class="plot" @pointermove=${this.moved} @pointerleave=${() => (this.pointer = undefined)}></div>
    </figure>`;
  }

  private moved(event: PointerEvent) {
    if (event.isTrusted) this.pointer = { clientX: event.clientX, clientY: event.clientY };
  }

  protected override updated(_: PropertyValues) {
    const place = this.renderRoot.querySelector('.plot')!;
    const { width, height } = this.size;
    const names = this.lab?.settings.encodings.map((spec) => textWidth(this.name(spec))) ?? [];
    const margins = { top: 22, right: Math.min(24 + Math.max(0, ...names), 0.4 * width), bottom: 34, left: 44 };
    if (!this.lab || width === 0) return;
    const options = this.draw(this.lab, { width, height, margins });
    place.replaceChildren(Plot.plot({
      width, height, marginTop: margins.top, marginRight: margins.right, marginBottom: margins.bottom, marginLeft: margins.left,
      style: { background: 'none', color: 'var(--lw-ink)' }, ...options,
    }));
    this.svg!.setAttribute('aria-hidden', 'true'); // the figure has a name and the table has the numbers; shapes have nothing to say
    if (this.empty) place.append(Object.assign(document.createElement('p'), { className: 'empty', textContent: this.emptyText }));
    // A redraw loses the tooltip; the pointer has not moved, so say again where it is.
    if (this.pointer) this.svg?.dispatchEvent(new PointerEvent('pointermove', { ...this.pointer, pointerType: 'mouse' }));
  }

  protected opacity(encoding: string): number { return !this.lit || this.lit === encoding ? 1 : 0.15; }
}

const pen = globalThis.document?.createElement('canvas').getContext('2d');
function textWidth(text: string): number {
  pen!.font = '12px system-ui, sans-serif';
  return pen!.measureText(text).width;
}

export interface Size { width: number; height: number; margins: Margins }
interface Margins { top: number; right: number; bottom: number; left: number }

// The region past the trained length, its border and its name.
export function beyond(trained: number, longest: number, words: { longer: string; trained: string }): Plot.Markish[] {
  return [
    Plot.rect([0], { x1: trained, x2: longest, fill: 'var(--lw-shade)' }),
    Plot.ruleX([trained], { stroke: 'var(--lw-ink)', strokeWidth: 1 }),
    Plot.text([words.trained], { x: trained, frameAnchor: 'top', textAnchor: 'end', dx: -6, dy: -16, fill: 'var(--lw-muted)' }),
    Plot.text([`${words.longer} →`], { x: trained, frameAnchor: 'top', textAnchor: 'start', dx: 6, dy: -16, fill: 'var(--lw-muted)' }),
  ];
}

export interface Label { text: string; x: number; y: number; stroke: string; opacity: number; inline?: boolean }
const svgns = 'http://www.w3.org/2000/svg';

// Names at the ends of the lines, pushed apart until none overlap, each tied to its line by a thin leader.
export function labels(all: Label[], size: Size): Plot.Markish {
  return (_index, scales) => {
    const group = document.createElementNS(svgns, 'g');
    const { margins } = size, gap = 14, bottom = size.height - margins.bottom + 6;
    const placed = all
      .map((label) => ({ ...label, from: scales.y!(label.y) as number, start: scales.x!(label.x) as number }))
      .sort((a, b) => a.from - b.from);
    const column = placed.filter((label) => !label.inline), x = size.width - margins.right + 14;
    spread(column.map((label) => label.from), gap, margins.top, bottom).forEach((y, i) => {
      const label = column[i]!, leader = document.createElementNS(svgns, 'path');
      leader.setAttribute('d', `M${label.start + 3},${label.from}L${x - 3},${y}`);
      leader.setAttribute('style', `stroke: ${label.stroke}; stroke-opacity: ${0.4 * label.opacity}; fill: none`);
      group.append(leader, word(label, x, y));
    });
    // A line that ends early has its name where it ends.
    group.append(...placed.filter((label) => label.inline).map((label) => word(label, label.start + 8, label.from)));
    return group;
  };
}

function word({ text, stroke, opacity }: Label, x: number, y: number): SVGTextElement {
  const element = document.createElementNS(svgns, 'text');
  const attributes = { x, y, dy: '0.32em', 'text-anchor': 'start', style: `fill: color-mix(in oklab, ${stroke}, var(--lw-ink) 30%); opacity: ${opacity}` };
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

// Sorted places moved as little as a downward and an upward pass allow, at least `gap` apart.
export function spread(places: number[], gap: number, least: number, most: number): number[] {
  const out = [...places];
  const step = Math.min(gap, (most - least) / Math.max(1, out.length - 1));
  for (let i = 0; i < out.length; i++) out[i] = Math.max(out[i]!, i ? out[i - 1]! + step : least);
  for (let i = out.length - 1; i >= 0; i--) out[i] = Math.min(out[i]!, i < out.length - 1 ? out[i + 1]! - step : most);
  return out;
}

// Ticks for a logarithmic axis of any span, five or so: the library thins its own without asking.
export function logTicks(low: number, high: number): number[] {
  if (high / low < 3) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough)!;
    return Array.from({ length: 12 }, (_, i) => (Math.ceil(low / step) + i) * step).filter((v) => v <= high);
  }
  const mantissas = [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 3, 5], [1, 3], [1]][Math.min(3, Math.floor(Math.log10(high / low) / 1.3))]!;
  const ticks: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    ticks.push(...mantissas.map((m) => m * power).filter((v) => v >= low && v <= high));
  return ticks;
}
