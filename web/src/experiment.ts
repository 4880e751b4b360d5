import { html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { begin, catalogue, engine, faultOf, type Descriptor, type Session, type Text } from './engine.ts';
import { base } from './theme.ts';
import { Localised } from './localised.ts';
import { Lab, measureOf, stretch } from './lab.ts';
import { shortTitle, wardrobe } from './dress.ts';
import { keep, kept } from './kept.ts';
import { ownModule } from './own.ts';
import { batch, defaults, fineTuned, fineTuneLength, leastBytes, sizes, testLengths, toHash, untuned, type Settings } from './settings.ts';
import { csv, download, json, standalone } from './export.ts';
import type { Chart } from './charts/chart.ts';
import type { Fault } from './encoding-picker.ts';
import './charts/stretch-chart.ts';
import './charts/loss-chart.ts';
import './charts/position-chart.ts';
import './encoding-picker.ts';
import './settings-form.ts';
import './run-list.ts';
import './results.ts';
import { layout } from './experiment.css.ts';

type State = 'idle' | 'loading' | 'running' | 'paused' | 'cancelled' | 'done' | 'failed';

// Choose, train short, test long, look. Set `settings` and `autostart`; fires `lw-settings` when the user changes
// them, `lw-state` (detail: the state) and `lw-result` (detail: the Lab) when an experiment has ended.
@customElement('lengthwise-experiment')
export class Experiment extends Localised {
  static override styles = [base, layout];
  @property({ attribute: false }) settings: Settings = defaults;
  @property({ type: Number }) autostart = 0; // seconds until it starts by itself; 0: it waits for the user
  @state() private all: Descriptor[] = [];
  @state() private state: State = 'loading';
  @state() private error = '';
  @state() private own?: Text;
  @state() private lit = '';
  @state() private version = 0;
  lab = new Lab(defaults);
  private session?: Session;
  private lengthwise?: Awaited<ReturnType<typeof engine>>;
  private readonly faults = new Map<string, string>();
  private ticking = 0;
  private drawing = 0;
  private pressed = false;
  private dressed?: { all: Descriptor[]; mixes: string; dress: ReturnType<typeof wardrobe> };

  override async connectedCallback() {
    super.connectedCallback();
    addEventListener('pagehide', this.leave);
    try {
      const all = await catalogue();
      this.lengthwise = await engine();
      this.all = all; // both at once: chips are asked about
    } catch (error) {
      return this.fail(error);
    }
    if (!this.isConnected) return;
    const latest = kept();
    this.lab = new Lab(this.ready);
    if (!latest || toHash(latest.settings) !== toHash(this.ready)) this.enter('idle');
    else { this.lab = latest; this.state = latest.runs.some((run) => run.state === 'cancelled') ? 'cancelled' : 'done'; }
    if (this.autostart && this.state === 'idle' && this.ready.encodings.length) this.tick();
    else this.autostart = 0;
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('pagehide', this.leave);
    this.leave();
    clearTimeout(this.ticking);
    this.session?.cancel();
  }

  private readonly leave = () => { if (this.busy && this.lab.started.length) keep(this.lab); };

  private tick() {
    this.ticking = window.setTimeout(() => (--this.autostart > 0 ? this.tick() : void this.start()), 1000);
  }

  private stay() {
    clearTimeout(this.ticking);
    this.autostart = 0;
  }

  async start() {
    this.stay();
    this.session?.cancel();
    this.error = '';
    const settings = this.ready, lab = (this.lab = new Lab(settings, this.ownBytes));
    const session = (this.session = begin(settings, this.own, (event) => {
      if (this.lab !== lab) return;
      lab.take(event);
      if (this.state === 'loading') this.enter('running');
      this.redraw();
    }));
    this.enter('loading');
    try {
      await session.finished;
      if (this.session === session) this.enter(lab.runs.some((run) => run.state === 'done') ? 'done' : 'failed');
    } catch (error) {
      if (this.session === session && this.state !== 'cancelled') this.fail(error);
    } finally {
      this.redraw();
    }
  }

  private get busy() { return ['running', 'paused'].includes(this.state) || (this.state === 'loading' && this.session !== undefined); }

  pause() { this.session?.pause(); this.enter('paused'); }
  resume() { this.session?.resume(); this.enter('running'); }
  cancel() { this.session?.cancel(); this.lab.cancel(); this.enter('cancelled'); }

  private enter(next: State) {
    this.state = next;
    this.dispatchEvent(new CustomEvent('lw-state', { detail: next }));
    if (next !== 'done' && next !== 'cancelled') return;
    if (this.lab.started.length) keep(this.lab);
    this.dispatchEvent(new CustomEvent('lw-result', { detail: this.lab }));
  }

  private fail(error: unknown) {
    this.error = error instanceof Error ? error.message : String(error);
    this.enter('failed');
  }

  // Events come by the hundred; a few pictures a second are enough for the eye and leave the cores to the training.
  private redraw() {
    this.drawing ||= window.setTimeout(() => { this.drawing = 0; this.version++; }, 250);
  }

  private change(part: Partial<Settings>) {
    this.stay();
    this.settings = { ...this.settings, ...part };
    if (!this.lab.started.length && !this.busy) this.lab = new Lab(this.ready);
    this.dispatchEvent(new CustomEvent('lw-settings', { detail: this.settings }));
  }

  // The button that was pressed may go: the keyboard then stays with the one in its place.
  protected override willUpdate() { this.pressed = Boolean(this.shadowRoot?.activeElement?.closest('.buttons')); }
  protected override updated() {
    if (this.pressed && !this.shadowRoot!.activeElement) this.shadowRoot!.querySelector<HTMLElement>('.buttons :last-child')?.focus();
  }

  // What the catalogue has is right; of anything else the engine is asked, once for each kind of model.
  private readonly fault = (spec: string): Fault | undefined => {
    if (!this.lengthwise || this.all.some((d) => d.experiment === spec && !ownModule(d.name))) return undefined;
    const unknown = untuned(spec).split(/[+|>]/).map((term) => term.trim().split(':')[0]!).find((name) => !this.all.some((d) => d.name === name));
    if (unknown !== undefined) return { unknown }; // the engine would list all that there are
    const key = [this.settings.size, this.settings.length, spec].join(' ');
    if (!this.faults.has(key)) this.faults.set(key, faultOf(this.lengthwise, spec, this.settings));
    const message = this.faults.get(key)!;
    return message ? { message } : undefined;
  };

  // The catalogue has one encoding more, or less, or another of the same name.
  private async ownChanged({ name, added }: { name: string; added: boolean }) {
    this.all = await catalogue();
    this.faults.clear();
    const { encodings } = this.settings, uses = (spec: string) => spec.split(/[^a-z0-9_]+/).includes(name);
    if (!added) this.change({ encodings: encodings.filter((spec) => !uses(spec)) });
    else if (!encodings.some(uses)) this.change({ encodings: [...encodings, this.all.find((d) => d.name === name)!.experiment] });
    else this.change({});
  }

  private get ownBytes() { return this.own ? this.own.train.length + this.own.test.length : 0; }

  // No encoding is to blame where the visitor's text ends.
  private get textEnds() { return this.settings.task === 'text' && this.own !== undefined && this.ownBytes < leastBytes(this.settings); }

  // The settings without what cannot be run.
  private get ready(): Settings { return { ...this.settings, encodings: this.settings.encodings.filter((spec) => !this.fault(spec)) }; }

  private readonly name = (spec: string) => shortTitle(spec, this.all, this.language);

  private get dress() {
    const mixes = [...this.lab.settings.encodings, ...this.settings.encodings];
    const key = mixes.join();
    if (this.dressed?.all !== this.all || this.dressed.mixes !== key) this.dressed = { all: this.all, mixes: key, dress: wardrobe(this.all, mixes) };
    return this.dressed.dress;
  }

  override render() {
    const { t, lab, version, lang, dress, name, lit, settings } = this;
    const shared = { lab, version, lang, dress, name, lit };
    return html`
      <section class="head">
        <div><h2>${t.headline(lab.settings.length, lab.settings.length * lab.settings.reach)}</h2><p class="quiet">${t.lead}</p></div>
        ${this.controls()}
      </section>
      <aside class="panel">
        <lengthwise-encodings .lang=${lang} .catalogue=${this.all} .chosen=${settings.encodings} .dress=${dress} .fault=${this.fault}
          @lw-encodings=${(e: CustomEvent<string[]>) => this.change({ encodings: e.detail })}
          @lw-own=${(e: CustomEvent<{ name: string; added: boolean }>) => void this.ownChanged(e.detail)}
          @lw-lit=${(e: CustomEvent<string>) => (this.lit = lab.settings.encodings.includes(e.detail) ? e.detail : '')}></lengthwise-encodings>
        <lengthwise-settings .lang=${lang} .settings=${settings} .own=${this.own}
          @lw-settings=${(e: CustomEvent<Partial<Settings>>) => this.change(e.detail)}
          @lw-text=${(e: CustomEvent<Text | undefined>) => { this.own = e.detail; this.change({}); }}></lengthwise-settings>
      </aside>
      <section class="stretch"><header><h3>${measureOf(lab.settings.task) === 'accuracy' ? t.accuracyAxis : t.perplexityAxis}</h3>${this.svgButton('lengthwise-stretch-chart', t.stretchTitle)}</header>
        ${chart('stretch', shared)}</section>
      <section class="small">
        <div><header><h3>${t.lossTitle}${t.nats}</h3>${this.svgButton('lengthwise-loss-chart', t.lossTitle)}</header>${chart('loss', shared)}</div>
        <div><header><h3>${lab.started.length ? t.positionTitle(testLengths(lab.settings).at(-1)!) : t.positionTitleEmpty}${t.nats}</h3>${this.svgButton('lengthwise-position-chart', t.positionTitleEmpty)}</header>
          ${chart('position', shared)}</div>
        <div class="runs"><header><h3>${t.runsTitle}</h3></header>
          <lengthwise-runs tabindex="0" role="region" aria-label=${t.runsTitle} .lang=${lang} .lab=${lab} .version=${version} .dress=${dress} .name=${name}></lengthwise-runs></div>
      </section>
      <section class="numbers">
        <header><h3>${t.resultsTitle}</h3>${stretch(lab).length ? html`<span class="downloads">
          <button class="link" aria-label="${t.download}${t.colon}CSV" @click=${() => download('lengthwise.csv', 'text/csv', csv(lab))}>${t.downloadCsv}</button>
          <button class="link" aria-label="${t.download}${t.colon}JSON" @click=${() => download('lengthwise.json', 'application/json', json(lab))}>${t.downloadJson}</button></span>` : nothing}</header>
        <lengthwise-results .lang=${lang} .lab=${lab} .version=${version} .dress=${dress} .name=${name}></lengthwise-results>
        <p class="protocol quiet">${this.protocol()}</p>
      </section>`;
  }

  private controls() {
    const { t, state } = this;
    const busy = this.busy;
    const ready = this.ready, able = ready.encodings.length > 0 && !this.textEnds, { lab } = this;
    const changed = lab.started.length > 0 && (toHash(lab.settings) !== toHash(ready) || (ready.task === 'text' && lab.ownText !== this.ownBytes));
    const done = this.lab.runs.filter((run) => run.state === 'done').length;
    const status = this.error ? html`<span lang="en">${this.error}</span>` : (state === 'done' ? t.finishedStatus(done) : t.state[state]) + (busy ? ` ${done} / ${this.lab.runs.length}` : '');
    return html`<div class="controls">
      <p class="quiet"><span role="status" class=${state === 'failed' ? 'error' : ''}>${able || busy ? status : this.textEnds ? t.ownTextShort(this.ownBytes, leastBytes(this.settings)) : t.chooseOne}</span>
        ${this.autostart && state === 'idle' ? html`${t.startsIn(this.autostart)} <button class="link" @click=${this.stay}>${t.wait}</button>` : nothing}</p>
      <p class="buttons">
        ${busy ? html`<button class="plain" data-action="cancel" @click=${this.cancel}>${t.cancel}</button>
          <button class="plain" data-action=${state === 'paused' ? 'resume' : 'pause'} @click=${state === 'paused' ? this.resume : this.pause}>${state === 'paused' ? t.resume : t.pause}</button>` : nothing}
        ${busy && !changed ? nothing : html`<button class="go" data-action="start" ?disabled=${state === 'loading' || !able} @click=${this.start}>
          ${changed ? t.retrain : state === 'idle' || state === 'loading' ? t.train : t.again}</button>`}
      </p></div>`;
  }

  private svgButton(tag: 'lengthwise-stretch-chart' | 'lengthwise-loss-chart' | 'lengthwise-position-chart', title: string) {
    if (!this.lab.started.length) return nothing;
    const save = () => {
      const { svg, heading, upwards } = this.renderRoot.querySelector(tag) as Chart;
      if (svg) download(`${tag}.svg`, 'image/svg+xml', standalone(svg, heading, upwards));
    };
    return html`<button class="link" aria-label=${this.t.downloadChart(title)} @click=${save}>${this.t.downloadSvg}</button>`;
  }

  private protocol(): string {
    const { t } = this, { settings } = this.lab;
    const { width, layers, heads } = sizes[settings.size];
    const tokens = (settings.steps * batch * settings.length).toLocaleString(this.language);
    const counts = this.lab.runs.flatMap((run) => run.parameters ?? []);
    const parameters = counts.length ? t.parameters(Math.min(...counts), Math.max(...counts)) : '';
    return t.protocol({ parameters, width, layers, heads, tokens, batch, length: settings.length, steps: settings.steps, seeds: settings.seeds }) +
      `${t.protocolTest[this.lab.ownText && settings.task === 'text' ? 'own' : settings.task]}${settings.encodings.some(fineTuned) ? t.fineTuned(fineTuneLength(settings)) : ''}${t.tinyNote}`;
  }
}

interface Shared { lab: Lab; version: number; lang: string; dress: ReturnType<typeof wardrobe>; name: (spec: string) => string; lit: string }
const chart = (which: 'stretch' | 'loss' | 'position', s: Shared) => ({
  stretch: html`<lengthwise-stretch-chart .lab=${s.lab} .version=${s.version} .lang=${s.lang} .dress=${s.dress} .name=${s.name} .lit=${s.lit}></lengthwise-stretch-chart>`,
  loss: html`<lengthwise-loss-chart .lab=${s.lab} .version=${s.version} .lang=${s.lang} .dress=${s.dress} .name=${s.name} .lit=${s.lit}></lengthwise-loss-chart>`,
  position: html`<lengthwise-position-chart .lab=${s.lab} .version=${s.version} .lang=${s.lang} .dress=${s.dress} .name=${s.name} .lit=${s.lit}></lengthwise-position-chart>`,
})[which];
declare global { interface HTMLElementTagNameMap { 'lengthwise-experiment': Experiment } }
