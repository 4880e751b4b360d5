import { css, html, nothing } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { growth, peers, type Entry, type Recorded, type RowResult } from 'virtual:bench-records';
import simd from '../../../build/wasm/kernels.wasm?url';
import relaxed from '../../../build/wasm-relaxed/kernels.wasm?url';
import { download } from '../export.ts';
import { places } from '../places.ts';
import { Site } from '../site.ts';
import { figure, rows, type Row } from './rows.mjs';
import './growth.ts';

type State = 'idle' | 'loading' | 'running' | 'done' | 'cancelled' | 'failed';
interface Bar { who: string; where: 'here' | 'recorded'; ours: boolean; value: number; entry: Entry }

// Milliseconds before and in a turn, seconds of all turns. A turn is long for clocks that only tell whole milliseconds.
const budgets = { whole: { warmUp: 500, turn: 60, seconds: 0.8 }, quick: { warmUp: 40, turn: 30, seconds: 0.1 } };
const address = (url: string) => new URL(url, location.href).href;

// What this browser does in a second, beside plain JavaScript and beside what was recorded of other libraries.
@customElement('lengthwise-bench')
export class Bench extends Site {
  static override styles = [...Site.styles, css`
    .bar h1 a { color: inherit; text-decoration: none; }
    .head { display: flex; flex-wrap: wrap; gap: 14px 48px; justify-content: space-between; align-items: end; margin-bottom: 20px; }
    .lead { max-width: 72ch; }
    .controls { display: grid; gap: 8px; justify-items: end; margin-left: auto; }
    .buttons { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center; justify-content: end; }
    .go { height: 40px; padding: 0 18px; border-radius: 20px; background: var(--lw-ink); color: var(--lw-paper); font-weight: 600; white-space: nowrap; }
    .go.plain { background: none; color: inherit; font-weight: 400; border: 1px solid var(--lw-line); }
    label { display: inline-flex; gap: 6px; align-items: center; min-height: 24px; }
    [role=status] { min-height: 1.45em; text-align: right; }
    progress { width: 100%; height: 4px; appearance: none; border: 0; background: var(--lw-line); display: block; margin-bottom: 22px; }
    progress::-webkit-progress-bar { background: var(--lw-line); }
    progress::-webkit-progress-value { background: var(--lw-rotation); }
    progress::-moz-progress-bar { background: var(--lw-rotation); }
    .beside { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; margin-bottom: 24px; font-size: 13px; }
    .beside label { flex-wrap: wrap; min-width: 0; }
    select { background: var(--lw-raised); border: 1px solid var(--lw-line); border-radius: 4px; min-height: 28px; padding: 2px 6px; max-width: 100%; }
    .rows { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 30px 44px; align-items: start; }
    section.row { border-top: 2px solid var(--lw-line); padding-top: 8px; break-inside: avoid; transition: border-color .2s; }
    section.now { border-color: var(--lw-rotation); }
    h2 { font: 600 15px/1.3 var(--lw-serif); }
    .unit { font-size: 12px; min-height: 1.45em; }
    h3 { font-size: 11px; font-weight: 400; margin-top: 8px; }
    ul { list-style: none; margin: 0; padding: 0; }
    li { display: grid; grid-template-columns: minmax(0, 15em) minmax(60px, 1fr) 4.5em; gap: 0 10px; align-items: center; min-height: 22px; font-size: 13px; }
    li b { font-weight: 600; text-align: right; }
    li.recorded { color: var(--lw-muted); }
    .track { height: 12px; background: var(--lw-shade); }
    .track i { display: block; height: 100%; width: var(--part); background: var(--lw-none); min-width: 1px; transition: width .3s; }
    .ours .track i { background: var(--lw-rotation); }
    .recorded .track i { opacity: .45; }
    small { grid-column: 1 / -1; font-size: 11px; color: var(--lw-muted); margin-bottom: 4px; }
    .error { color: var(--lw-pattern); max-width: 72ch; }
    lengthwise-growth { margin-top: 44px; }
    @media (max-width: 560px) { .controls, .buttons { justify-items: start; justify-content: start; margin-left: 0; } [role=status] { text-align: left; } li { grid-template-columns: minmax(0, 1fr) 4.5em; } .track { grid-column: 1 / -1; order: 1; } li { padding-bottom: 6px; } small { order: 2; } }
    @media (forced-colors: active) { .go, .go.plain { background: ButtonFace; color: ButtonText; border: 2px solid; } progress { forced-color-adjust: none; } }
    @media print { .controls, progress { display: none; } }
  `];
  @state() state: State = 'idle';
  @state() results: RowResult[] = [];
  @state() private quick = false;
  @state() private now = '';
  @state() private problem = '';
  @state() private copying: 'copied' | 'notCopied' | '' = '';
  @state() runs = peers;
  @state() recorded = closest(peers);
  variant = '';
  private worker?: Worker;
  private started = 0;
  private seconds = 0;

  protected get tagline() { return this.t.bench.title; }

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.worker?.terminate();
  }

  private start() {
    Object.assign(this, { results: [], problem: '', copying: '', now: '', state: 'loading', started: performance.now() });
    const worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
    this.worker = worker;
    worker.onmessage = ({ data }) => this.hear(data);
    worker.onerror = (event) => this.hear({ type: 'failed', message: event.message || 'the worker did not start' });
    worker.postMessage({ kernels: { simd: address(simd), relaxed: address(relaxed) }, budget: budgets[this.quick ? 'quick' : 'whole'] });
  }

  private end(state: State) {
    this.worker?.terminate();
    this.worker = undefined;
    this.seconds = (performance.now() - this.started) / 1000;
    this.now = '';
    this.state = state;
  }

  private hear(told: { type: string; variant?: string; id?: string; row?: RowResult; message?: string }) {
    if (told.type === 'loaded') this.variant = told.variant!, this.state = 'running';
    if (told.type === 'begin') this.now = told.id!;
    if (told.type === 'row') this.results = [...this.results, told.row!];
    if (told.type === 'done') this.end('done');
    if (told.type === 'failed') this.problem = told.message!, this.end('failed');
  }

  private get busy() { return this.state === 'loading' || this.state === 'running'; }
  private press() { return this.busy ? this.end('cancelled') : this.start(); }

  private json(): string {
    const results = this.results.map(({ id, entries }) => {
      const row = rows.find((each) => each.id === id)!;
      return { id, unit: row.unit, entries: entries.map((entry) => ({ ...entry, ...(entry.median && { value: figure(row, entry.median) }) })) };
    });
    const { userAgent, hardwareConcurrency: cores } = navigator;
    return `${JSON.stringify({ bench: 'lengthwise', date: new Date().toISOString(), userAgent, cores, variant: this.variant, quick: this.quick, state: this.state, rows: results }, null, 1)}\n`;
  }
  private async copy() {
    this.copying = await navigator.clipboard?.writeText(this.json()).then(() => 'copied' as const, () => 'notCopied' as const) ?? 'notCopied';
  }

  private titleOf(row: Row): string {
    const { rows: words } = this.t.bench;
    if (row.specs) return words.doors(row.length);
    switch (row.kind) {
      case 'product': return words.product(row.m, row.k, row.n);
      case 'attention': return words.attention(row.length, row.heads, row.headDim);
      case 'rotate': return words.rotate(row.length);
      case 'sinusoidal': return words.sinusoidal(row.length, row.width);
      case 'training': return words.training(row.config.width, row.config.layers, row.batch, row.config.length);
    }
  }

  /** "lengthwise relaxed alibi" and the like, in words of the reader. */
  private nameOf({ name, ours }: Entry, row: Row): string {
    const words = this.t.bench;
    if (!ours) return name === 'plain JavaScript' ? words.plain : name;
    const [library, variant, spec] = name.split(' ');
    const binary = `${library} · ${words.variants[variant!] ?? variant}`;
    return row.specs ? `${spec === 'nope' ? words.noEncoding : spec}${variant === this.variant ? '' : ` (${words.variants[variant!]})`}` : binary;
  }

  private bars(row: Row): Bar[] {
    const of = (result: RowResult | undefined, where: Bar['where']) => (result?.entries ?? []).map((entry): Bar => (
      { who: this.nameOf(entry, row), where, ours: entry.ours, value: entry.median ? figure(row, entry.median) : NaN, entry }));
    const kept = (bar: Bar) => !row.specs || !this.variant || bar.entry.name.split(' ')[1] === this.variant;
    const best = row.unit === 'ms' ? 1 : -1;
    const recorded = of(this.recorded?.rows.find(({ id }) => id === row.id), 'recorded').filter(kept).sort((a, b) => best * (a.value - b.value));
    return [...of(this.results.find(({ id }) => id === row.id), 'here'), ...recorded];
  }

  override render() {
    const { t, t: { bench: words } } = this;
    return html`${this.bar(html`<h1><a href=${places.lab}>lengthwise</a></h1>`, html`<a class="link" href=${places.lab}>${t.docs.toLab}</a>
        <a class="link" href=${places.encodings}>${t.docs.title}</a>`)}
      <main>
        <div class="head"><p class="lead">${words.lead}</p>${this.controls()}</div>
        <progress aria-label=${words.progress} max=${rows.length} value=${this.results.length}></progress>
        ${this.problem ? html`<p class="error" role="alert" lang="en">${this.problem}</p>` : nothing}
        ${this.beside()}
        <div class="rows">${rows.map((row) => this.row(row))}</div>
        ${growth.length ? html`<lengthwise-growth .lang=${this.lang} .run=${growth[0]}></lengthwise-growth>` : nothing}
      </main>`;
  }

  private controls() {
    const { t: { bench: words }, busy, results } = this;
    return html`<div class="controls"><p class="buttons">
        <label><input type="checkbox" .checked=${this.quick} ?disabled=${busy} @change=${(e: Event) => { this.quick = (e.target as HTMLInputElement).checked; }}>${words.quick}</label>
        <button class="go ${busy ? 'plain' : ''}" data-action=${busy ? 'cancel' : 'start'} @click=${this.press}>${busy ? words.cancel : results.length ? words.again : words.start}</button></p>
      <p class="quiet" role="status">${this.status()}</p>
      ${results.length && !busy ? html`<p class="buttons"><button class="link" data-action="copy" @click=${this.copy}>${words[this.copying || 'copy']}</button><span role="status" class="unseen">${this.copying && words[this.copying]}</span>
        <button class="link" data-action="download" @click=${() => download('lengthwise-bench.json', 'application/json', this.json())}>${words.download}</button></p>` : nothing}</div>`;
  }

  private status(): string {
    const { t: { bench: words }, results } = this, row = rows.find(({ id }) => id === this.now);
    if (row) return words.measuring(this.titleOf(row), rows.indexOf(row) + 1, rows.length);
    const all = results.flatMap(({ entries }) => entries);
    if (this.state === 'done') return words.done(all.filter(({ median }) => median).length, all.length, this.seconds.toFixed(0));
    return { idle: words.idle, loading: words.loading, running: words.loading, cancelled: words.cancelled, failed: '' }[this.state as Exclude<State, 'done'>];
  }

  private beside() {
    const { t: { bench: words }, recorded } = this;
    if (!recorded) return html`<p class="beside quiet">${words.notRecorded}</p>`;
    const { engine, date, clock, machine, versions } = recorded;
    const known = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ');
    return html`<p class="beside quiet"><label>${words.compare}
        <select @change=${(e: Event) => { this.recorded = this.runs[(e.target as HTMLSelectElement).selectedIndex]; }}>
          ${this.runs.map((run) => html`<option ?selected=${run === recorded}>${run.engine}, ${run.machine.cpu}, ${run.date}</option>`)}</select></label>
      <span>${words.recordedOn({ engine, date, clock, ...machine, versions: known })}</span></p>`;
  }

  private row(row: Row) {
    const { t: { bench: words } } = this, bars = this.bars(row), most = Math.max(...bars.map(({ value }) => value).filter((value) => value > 0));
    return html`<section class="row ${row.id === this.now ? 'now' : ''}" aria-labelledby=${row.id.replace(/\W/g, '-')} data-row=${row.id}>
      <h2 id=${row.id.replace(/\W/g, '-')}>${this.titleOf(row)}</h2>
      <p class="unit quiet">${words.units[row.unit] ?? row.unit}, ${row.unit === 'ms' ? words.less : words.more}${this.ratio(row)}</p>
      ${(['here', 'recorded'] as const).map((where) => this.list(words[where], bars.filter((bar) => bar.where === where), most))}</section>`;
  }

  private list(name: string, bars: Bar[], most: number) {
    return bars.length ? html`<h3>${name}</h3><ul>${bars.map((bar) => this.line(bar, most))}</ul>` : nothing;
  }

  private ratio(row: Row) {
    const entries = this.results.find(({ id }) => id === row.id)?.entries ?? [];
    const median = (ours: boolean) => entries.find((entry) => entry.ours === ours)?.median;
    const [us, plain] = [median(true), median(false)];
    return us && plain ? html` · <strong>${this.t.bench.times(short(plain / us))}</strong>` : nothing;
  }

  private line({ who, where, ours, value, entry }: Bar, most: number) {
    const { t: { bench: words } } = this, { median, low, high, error, fault } = entry;
    const checked = error ? words.checked(error.toExponential(0)) : words.exact;
    const spread = median && low && high ? words.spread(((high - low) / median * 50).toFixed(0)) : '';
    return html`<li class="${where} ${ours ? 'ours' : ''}" data-value=${median ? value : ''}><span>${who}</span>
      <span class="track hue" aria-hidden="true"><i style="--part: ${median ? 100 * value / most : 0}%"></i></span><b>${median ? short(value) : words.waiting}</b>
      ${where === 'here' ? html`<small>${median ? html`${checked} · ${spread}` : html`<span class="error">${words.fault(fault ?? '')}</span>`}</small>` : nothing}</li>`;
  }
}

/** The recorded run in the engine that is most like this one. */
function closest(runs: Recorded[]): Recorded | undefined {
  const family = /firefox/i.test(navigator.userAgent) ? 'firefox' : /chrom/i.test(navigator.userAgent) ? 'chromium' : '';
  return runs.find(({ engine }) => family && engine.toLowerCase().startsWith(family)) ?? runs[0];
}

const short = (value: number): string => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 0.1 ? value.toFixed(2) : String(Number(value.toPrecision(2))));
declare global { interface HTMLElementTagNameMap { 'lengthwise-bench': Bench } }
