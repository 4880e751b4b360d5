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
    .empty { position: absolute; display: grid; place-items: center; text-align: center; color: var(--lw-muted); padding: 0 8px; }
    @media print { /* the drawing keeps its proportions on a narrower paper */
      .plot { position: static; }
      .plot svg { width: 100%; height: auto; }
    }
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

  abstract get heading(): string;  // what is drawn,
  abstract get upwards(): string;  // and along which axes
  protected abstract get along(): string;
  protected abstract get emptyText(): string;
  protected abstract get empty(): boolean; // nothing measured: axes alone, and `emptyText`
  protected abstract draw(lab: Lab, size: Size): Plot.PlotOptions;

  override connectedCallback() { super.connectedCallback(); this.observer.observe(this); }
  override disconnectedCallback() { super.disconnectedCallback(); this.observer.disconnect(); }

  get svg(): SVGSVGElement | null { return this.renderRoot.querySelector('.plot svg'); }

  override render() {
    return html`<figure role="img" aria-label=${this.t.chartCaption(this.heading, this.upwards, this.along)}>
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
    const margins = { top: 22, right: Math.min(24 + Math.max(0, ...names), 0.5 * width), bottom: 36, left: 50 };
    if (!this.lab || width === 0) return;
    const options = this.draw(this.lab, { width, height, margins });
    options.x = { label: this.along, labelAnchor: 'right', labelOffset: margins.bottom - 6, tickSize: 4, ...options.x };
    place.replaceChildren(Plot.plot({
      width, height, marginTop: margins.top, marginRight: margins.right, marginBottom: margins.bottom, marginLeft: margins.left,
      style: { background: 'none', color: 'var(--lw-ink)' }, ...options,
    }));
    this.svg!.setAttribute('aria-hidden', 'true'); // the figure has a name and the table has the numbers; shapes have nothing to say
    if (this.empty) {
      const text = Object.assign(document.createElement('p'), { className: 'empty', textContent: this.emptyText });
      text.style.inset = `${margins.top}px ${margins.right}px ${margins.bottom}px ${margins.left}px`;
      place.append(text);
    }
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

// The region past the trained length, its border and its name; where there is no room to its left, all is said to its right.
export function beyond(trained: number, longest: number, size: Size, words: { longer: string; trained: string }): Plot.Markish[] {
  return [
    Plot.rect([0], { x1: trained, x2: longest, fill: 'var(--lw-shade)' }),
    Plot.ruleX([trained], { stroke: 'var(--lw-ink)', strokeWidth: 1 }),
    (_index, scales) => {
      const group = document.createElementNS(svgns, 'g'), x = scales.x!(trained) as number, y = size.margins.top - 10;
      const left = textWidth(words.trained) < x - 6, longer = `${words.longer} →`, both = `← ${words.trained}   ${longer}`;
      const fits = (text: string) => textWidth(text) < size.width - x - 6;
      const right = left ? longer : fits(both) ? both : `← ${words.trained}`;
      const muted = { stroke: 'var(--lw-muted)', opacity: 1 };
      if (left) group.append(word({ ...muted, text: words.trained }, x - 6, y, 'end'));
      if (fits(right)) group.append(word({ ...muted, text: right }, x + 6, y));
      return group;
    },
  ];
}

// Of the ticks those for which there is room, the trained length among them.
export function roomy(ticks: number[], trained: number, { width, margins }: Size): number[] {
  const every = Math.ceil((ticks.length * 34) / (width - margins.left - margins.right)), kept = Math.max(0, ticks.indexOf(trained));
  return ticks.filter((_, i) => (i - kept) % every === 0);
}

// `note`: why the line ends before the others do; it then has its name where it ends, if there is a free place.
export interface Label { text: string; x: number; y: number; stroke: string; opacity: number; note?: string }
interface Placed extends Label { from: number; start: number } // in pixels
interface Place { x: number; y: number }
const svgns = 'http://www.w3.org/2000/svg', gap = 14;

// Names at the ends of the lines, pushed apart until none overlap, each tied to its line by a thin leader.
export function labels(all: Label[], size: Size, lines: Place[][] = [], more = (n: number) => `… ${n}`): Plot.Markish {
  return (_index, scales) => {
    const group = document.createElementNS(svgns, 'g');
    const pixels = ({ x, y }: Place): Place => ({ x: scales.x!(x) as number, y: scales.y!(y) as number });
    const { margins } = size, top = margins.top, bottom = size.height - margins.bottom + 6;
    const placed = all.map((label): Placed => { const { x, y } = pixels(label); return { ...label, start: x, from: y }; }).sort((a, b) => a.from - b.from);
    const taken = lines.map((line) => line.map(pixels));
    const name = (label: Placed, x: number, y: number, room: number) => {
      const leader = document.createElementNS(svgns, 'path');
      leader.setAttribute('d', `M${label.start + 3},${label.from}L${x - 3},${y}`);
      leader.setAttribute('style', `stroke: ${label.stroke}; stroke-opacity: ${0.4 * label.opacity}; fill: none`);
      group.append(leader, word({ ...label, text: shorten(label.text, room) }, x, y));
      const right = Math.min(x + room, x + textWidth(label.text));
      taken.push([{ x, y: y - 6 }, { x: right, y: y - 6 }], [{ x, y: y + 6 }, { x: right, y: y + 6 }]);
    };
    const column = some(placed.filter((label) => !label.note), Math.floor((bottom - top) / gap) + 1, more), x = size.width - margins.right + 14;
    spread(column.map((label) => label.from), gap, top, bottom).forEach((y, i) => name(column[i]!, x, y, margins.right - 14));
    for (const { note, ...label } of placed.filter((l) => l.note)) {
      const text = label.text + note, x = label.start + 8, right = x + textWidth(text);
      const rows = Array.from({ length: Math.floor((bottom - top) / 7) }, (_, i) => top + 7 * i).sort((a, b) => Math.abs(a - label.from) - Math.abs(b - label.from));
      const y = right < size.width ? rows.find((row) => !taken.some((line) => crosses(line, x, right, row - 8, row + 8))) : undefined;
      if (y === undefined) continue;
      name({ ...label, text }, x, y, size.width);
    }
    return group;
  };
}

// Best and worst where not all fit, and between them the one that is brought forward or how many more there are.
function some(column: Placed[], room: number, more: (n: number) => string): Placed[] {
  if (column.length <= room) return column;
  const half = Math.floor((room - 1) / 2), between = column.slice(half, -half);
  const lit = column.some((label) => label.opacity < 1) && between.find((label) => label.opacity === 1);
  const rest = between[Math.floor(between.length / 2)]!;
  return [...column.slice(0, half), lit || { ...rest, text: more(between.length), stroke: 'var(--lw-muted)', opacity: 1 }, ...column.slice(-half)];
}

// Whether a line, drawn from left to right, passes through a box.
function crosses(line: Place[], left: number, right: number, top: number, bottom: number): boolean {
  return line.slice(1).some((b, i) => {
    const a = line[i]!, at = (x: number) => a.y + ((b.y - a.y) * (Math.min(Math.max(x, a.x), b.x) - a.x)) / (b.x - a.x || 1);
    return b.x > left && a.x < right && Math.min(at(left), at(right)) < bottom && Math.max(at(left), at(right)) > top;
  });
}

function shorten(text: string, room: number): string {
  let kept = text;
  while (kept && textWidth(kept === text ? text : `${kept}…`) > room) kept = kept.slice(0, -1).trimEnd();
  return kept === text ? text : `${kept}…`;
}

function word({ text, stroke, opacity }: Pick<Label, 'text' | 'stroke' | 'opacity'>, x: number, y: number, anchor = 'start'): SVGTextElement {
  const element = document.createElementNS(svgns, 'text');
  const attributes = { x, y, dy: '0.32em', 'text-anchor': anchor, style: `fill: color-mix(in oklab, ${stroke}, var(--lw-ink) 30%); opacity: ${opacity}` };
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
