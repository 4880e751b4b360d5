import { css, html, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import * as Plot from '@observablehq/plot';
import { base } from '../theme.ts';
import { Localised } from '../localised.ts';
import { labels, logTicks } from '../charts/chart.ts';
import type { CurvesPicture, Letter, Line, MapPicture } from './pictures.ts';

type Plotted = (SVGSVGElement | HTMLElement) & Plot.Plot;

// One picture: a heat map or curves, with its name below. What is under the pointer is read out beside the name.
@customElement('lengthwise-picture')
export class PictureElement extends Localised {
  static override styles = [base, css`
    :host { min-width: 0; break-inside: avoid; }
    .plot { overflow: hidden; }
    .plot svg { display: block; font: 12px var(--lw-sans); font-variant-numeric: tabular-nums; overflow: visible; max-width: 100%; }
    .plot image { image-rendering: pixelated; }
    @media print { .lit { display: none; } }
    @media not print { .printed { display: none; } }
    figcaption { font-size: 13px; color: var(--lw-muted); margin-top: 6px; max-width: 62ch; }
    .legend { display: flex; flex-wrap: wrap; align-items: center; gap: 0 8px; font-size: 12px; color: var(--lw-muted); min-height: 20px; }
    .legend i { width: 72px; height: 8px; border: 1px solid var(--lw-line); border-radius: 2px; }
    .legend output { margin-left: auto; }
    .inks { position: absolute; visibility: hidden; }
  `];
  @property({ attribute: false }) picture!: MapPicture | CurvesPicture;
  @property({ attribute: false }) letters: Letter[] = []; // of the tokens, where they matter
  @state() private width = 0;
  @state() private pointed = '';
  private readonly observer = new ResizeObserver(([entry]) => { this.width = Math.floor(entry!.contentRect.width); });
  private readonly dress = new MutationObserver(() => this.requestUpdate());
  private readonly dark = matchMedia('(prefers-color-scheme: dark)');
  private readonly redress = () => this.requestUpdate();

  override connectedCallback() {
    super.connectedCallback();
    this.observer.observe(this);
    this.dress.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    this.dark.addEventListener('change', this.redress);
  }
  override disconnectedCallback() {
    super.disconnectedCallback();
    this.observer.disconnect();
    this.dress.disconnect();
    this.dark.removeEventListener('change', this.redress);
  }

  override render() {
    const { picture } = this, { title, note } = this.t.docs.pictures[picture.what];
    const name = title(picture.head === undefined ? '' : String(picture.head + 1)), hue = `var(--lw-${picture.door})`;
    const [least, most] = bounds(picture), [from, to] = reach(least, most);
    const label = `${name}. ${this.t.docs.fromTo(this.reading(least), this.reading(most))}`;
    const ramp = { below: [hue, paper], around: [negative, paper, hue], above: [paper, hue] }[side(least, most)].join();
    return html`<figure role="img" aria-label=${label}>
      <h3 aria-hidden="true">${name}</h3>
      <div class="plot" @pointermove=${this.read} @pointerleave=${() => (this.pointed = '')}></div></figure>
      <div class="legend" aria-hidden="true">${picture.kind === 'map' && picture.what !== 'pattern' && picture.what !== 'hides' ? html`${short(from)}<i class="hue" style="background: linear-gradient(90deg, ${ramp})"></i>${short(to)}` : ''}
        <output>${this.pointed}</output></div>
      <p class="quiet"><small>${note}</small></p>
      <span class="inks hue" aria-hidden="true"><i style="color: var(--lw-paper)"></i><i style="color: ${hue}"></i><i style="color: ${negative}"></i><i style="color: var(--lw-shade)"></i></span>`;
  }

  protected override updated(changed: PropertyValues) {
    if (!this.width || (changed.size === 1 && changed.has('pointed'))) return;
    const plotted = this.picture.kind === 'map' ? this.map(this.picture) : this.curves(this.picture);
    plotted.setAttribute('aria-hidden', 'true');
    this.renderRoot.querySelector('.plot')!.replaceChildren(plotted);
  }

  /** Canvas needs colours as numbers, and variables are none: they are asked of elements that wear them. */
  private inks(scheme: '' | 'light'): string[] {
    const worn = this.renderRoot.querySelector<HTMLElement>('.inks')!;
    worn.style.colorScheme = scheme;
    return [...worn.children].map((i) => getComputedStyle(i).color);
  }

  // On paper another image is seen, in light colours: a browser that prints does not wait for a new one.
  private map(picture: MapPicture) {
    const inks = this.inks(''), light = this.inks('light'), plotted = this.heat(picture, inks);
    if (light.join() !== inks.join()) {
      const image = plotted.querySelector('image')!, other = this.heat(picture, light).querySelector('image')!;
      image.classList.add('lit');
      other.classList.add('printed');
      image.after(other);
    }
    return plotted;
  }

  private heat({ columns, rows, data, x, y }: MapPicture, [paper, ink, below, blank]: string[]) {
    const { axis } = this.t.docs;
    const [least, most] = bounds(this.picture), [from, to] = reach(least, most);
    const ramp = { below: { domain: [from, to], range: [ink!, paper!] }, around: { domain: [from, 0, to], range: [below!, paper!, ink!] }, above: { domain: [from, to], range: [paper!, ink!] } };
    const width = Math.min(this.width, 460), square = x === 'key';
    const height = Math.round(square ? width * 0.92 : Math.min(width * 0.75, 300));
    return Plot.plot({
      width, height, marginLeft: 42, marginBottom: 34, marginTop: 8, marginRight: 10, style: { background: 'none', color: 'var(--lw-ink)' },
      x: { label: axis[x], domain: [-0.5, columns - 0.5], tickFormat: String, ticks: 6, tickSize: 4, labelAnchor: 'right' },
      y: { label: axis[y], domain: [-0.5, rows - 0.5], reverse: true, tickFormat: String, ticks: 6, tickSize: 4, labelAnchor: 'bottom' },
      color: { type: 'linear', interpolate: 'rgb', unknown: blank, ...ramp[side(least, most)] },
      marks: [
        Plot.raster(Array.from(data, (v) => (Number.isFinite(v) ? v : null)), {
          width: columns, height: rows, x1: -0.5, x2: columns - 0.5, y1: -0.5, y2: rows - 0.5, imageRendering: 'pixelated',
        }),
        Plot.frame({ stroke: 'var(--lw-line)' }),
      ],
    }) as Plotted;
  }

  private curves({ lines, x, y, rules, log, steps, door }: CurvesPicture) {
    const { axis, trained } = this.t.docs;
    const dots = lines.flatMap(({ name, points }, i) => points.map(([a, b]) => ({ name, x: a, y: b, i })));
    const hue = (i: number) => `color-mix(in oklab, var(--lw-${door}), var(--lw-ink) ${lines.length < 2 ? 0 : Math.round((55 * i) / (lines.length - 1))}%)`;
    const [least, most] = bounds(this.picture), farthest = Math.max(1, ...dots.map((d) => d.x));
    const named = lines.length > 1;
    const vertical = x !== 'pair', shown = rules.filter((at) => (vertical ? at <= farthest : true));
    const letters = x === 'token' && this.letters.length > 0 && this.width / (farthest + 1) > 8;
    const letterAt = new Map(this.letters.map(({ letter, token }) => [token, letter]));
    const ruled = shown.map((at) => (vertical
      ? [Plot.ruleX([at], { stroke: 'var(--lw-muted)', strokeDasharray: '2 3' }), Plot.text([trained(at)], { x: at, frameAnchor: 'top', dy: -14, fill: 'var(--lw-muted)' })]
      : [Plot.ruleY([at], { stroke: 'var(--lw-muted)', strokeDasharray: '2 3' }), Plot.text([trained(at)], { y: at, fill: 'var(--lw-muted)', ...besides(lines[0]!.points, at) })]));
    const size = { width: Math.min(this.width, letters ? 1200 : 460), height: 280, margins: { top: 24, right: named ? 30 : 10, bottom: 34, left: 52 } };
    const ends = lines.map(({ name, points }, i) => ({ name, stroke: hue(i), end: points.reduce((a, b) => (b[0] > a[0] ? b : a), points[0] ?? [0, 0]) }));
    return Plot.plot({
      width: size.width, height: size.height, marginLeft: size.margins.left, marginBottom: size.margins.bottom, marginTop: size.margins.top, marginRight: size.margins.right,
      style: { background: 'none', color: 'var(--lw-ink)' },
      x: { label: axis[x], labelAnchor: 'right', tickSize: 4, ticks: letters ? [...letterAt.keys()] : 6, tickFormat: letters ? (token: number) => letterAt.get(token) : String },
      y: { label: axis[y], labelAnchor: 'top', type: log ? 'log' : 'linear', domain: most - least > 1e-4 * Math.abs(most) ? undefined : reach(least, 1.2 * most), ticks: log ? logTicks(least, most) : 5, tickFormat: short, tickSize: 0, nice: !log, grid: true },
      marks: [
        ...ruled,
        Plot.line(dots, { x: 'x', y: 'y', z: 'i', stroke: (d: { i: number }) => hue(d.i), strokeWidth: 1.6, curve: steps ? 'step' : 'linear' }),
        x === 'pair' ? Plot.dot(dots, { x: 'x', y: 'y', fill: (d: { i: number }) => hue(d.i), r: 2.5 }) : null,
        named ? labels((lines.length <= 8 ? ends : [ends[0]!, ends.at(-1)!]).map(({ name, stroke, end: [x, y] }) => ({ text: name, x, y, stroke, opacity: 1 })), size) : null,
      ],
    }) as Plotted;
  }

  private read(event: PointerEvent) {
    const { picture } = this, plotted = this.renderRoot.querySelector('.plot')!.firstElementChild as Plotted | null;
    if (!plotted) return;
    const box = plotted.getBoundingClientRect(), { axis } = this.t.docs;
    const x = Math.round(plotted.scale('x')!.invert!(event.clientX - box.left)), y = Math.round(plotted.scale('y')!.invert!(event.clientY - box.top));
    if (picture.kind === 'curves') {
      const values = picture.lines.slice(0, 4).map(({ points }) => points.find(([at]) => at === x)?.[1]);
      this.pointed = values.every((v) => v === undefined) ? '' : `${axis[picture.x]} ${x}${this.t.colon}${values.map((v) => (v === undefined ? '–' : short(v))).join(', ')}`;
    } else {
      const inside = x >= 0 && y >= 0 && x < picture.columns && y < picture.rows;
      this.pointed = inside ? `${axis[picture.y]} ${y}, ${axis[picture.x]} ${x}${this.t.colon}${this.reading(picture.data[y * picture.columns + x]!)}` : '';
    }
  }

  /** A key that is hidden has a bias of −∞, and 0 if it is not. */
  private reading(value: number): string { return this.picture.what === 'hides' && Number.isFinite(value) ? (value ? '0' : '−∞') : short(value); }
}

/** Where there is room for a word at a level that a rising curve crosses: before it above, or past it below. */
function besides(points: Line['points'], level: number) {
  const crossing = points.findIndex(([, y]) => y >= level);
  return crossing < 0 || crossing > 0.4 * points.length
    ? { frameAnchor: 'left', textAnchor: 'start', dx: 6, dy: -7 } as const
    : { frameAnchor: 'right', textAnchor: 'end', dx: -6, dy: 9 } as const;
}

const paper = 'var(--lw-paper)', negative = 'var(--lw-muted)';
const side = (least: number, most: number) => (least >= 0 ? 'above' : most <= 0 ? 'below' : 'around');

/** The values that the colours of a map stand for: zero is the colour of paper. */
function reach(least: number, most: number): [number, number] {
  const end = Math.max(Math.abs(least), Math.abs(most)) || 1;
  return { below: [-end, 0], around: [-end, end], above: [0, end] }[side(least, most)] as [number, number];
}


function bounds(picture: MapPicture | CurvesPicture): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  const meet = (v: number) => { if (Number.isFinite(v)) [least, most] = [Math.min(least, v), Math.max(most, v)]; };
  if (picture.kind === 'map') picture.data.forEach(meet);
  else for (const { points } of picture.lines) for (const [, y] of points) meet(y);
  return least > most ? [0, 0] : [least, most];
}

const short = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(3))).replace('-', '−') : '–');
declare global { interface HTMLElementTagNameMap { 'lengthwise-picture': PictureElement } }
