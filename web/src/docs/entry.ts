import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { EncodingShape, Lengthwise } from 'lengthwise';
import { headers } from 'virtual:encoding-headers';
import { stretches } from 'virtual:stretch-records';
import { base } from '../theme.ts';
import { Localised } from '../localised.ts';
import { defaults, onlyNumbers, toHash } from '../settings.ts';
import { titleOf } from '../dress.ts';
import { linked, typeset } from '../paper.ts';
import { places } from '../places.ts';
import { ownModule } from '../own.ts';
import type { Descriptor } from '../engine.ts';
import { heads, mostTokens, pictures, shape, trainedLength, type Picture, type Scene, type Seen } from './pictures.ts';
import { mostContentTokens } from './content.ts';
import { specOf, valuesOf, type Values } from './options.ts';
import '../block.ts';
import './audit.ts';
import './measured.ts';
import './picture.ts';

const pause = 150; // ms without a change before slow pictures are made anew
const slow = 60; // ms
const sampleText = 'In 1862 he owed 37 dollars. In 1904 it was 12. Why? Nobody said so.';

const unseen: Seen = { pictures: [], readsTokens: false, letters: [] };

// The page of one encoding, made from its descriptor and the comment its C++ file opens with; nothing is written by hand.
@customElement('lengthwise-entry')
export class Entry extends Localised {
  static override styles = [base, css`
    article { overflow-wrap: break-word; }
    h1 { font: 600 30px/1.15 var(--lw-serif); margin: 0; letter-spacing: -.01em; }
    h2 { font: 600 18px/1.3 var(--lw-serif); margin: 34px 0 10px; }
    .head { display: grid; grid-template-columns: minmax(0, 1fr) minmax(240px, 344px); gap: 12px 40px; align-items: start; }
    dl { display: grid; grid-template-columns: max-content minmax(0, 68ch); gap: 7px 18px; margin: 16px 0 0; }
    dt { color: var(--lw-muted); } dd { margin: 0; }
    dd i { font-style: normal; border-bottom: 2px solid var(--hue); margin-right: .3em; }
    pre { margin: 0; padding: 12px 16px; background: var(--lw-shade); border-left: 3px solid var(--hue); font: 13.5px/1.6 ui-monospace, "DejaVu Sans Mono", "Noto Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
    pre span { display: block; padding-left: 2ch; text-indent: -2ch; }
    pre code, .notes code { font: inherit; color: var(--hue); }
    pre.use { border-color: var(--lw-line); font-size: 12.5px; }
    .notes { max-width: 78ch; margin-top: 10px; }
    .scene { display: flex; flex-wrap: wrap; gap: 10px 26px; align-items: end; padding: 10px 0 14px; }
    .scene label { display: grid; gap: 2px; font-size: 12px; font-weight: 600; color: var(--lw-muted); }
    .scene label.check { display: flex; gap: 6px; align-items: center; min-height: 24px; }
    .scene input[type=range] { width: 190px; accent-color: var(--lw-rotation); }
    .scene input[type=text] { width: min(560px, calc(100vw - 48px)); height: 29px; border: 0; border-bottom: 1px solid var(--lw-line); background: none; font-weight: 400; font-size: 14px; color: var(--lw-ink); }
    .scene input[type=checkbox] { width: 18px; height: 18px; margin: 0; accent-color: var(--lw-rotation); }
    .pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); gap: 28px 40px; }
    .pictures[aria-busy=true] { filter: grayscale(1); }
    .wide { grid-column: 1 / -1; }
    .sentence { max-width: 68ch; }
    .error { color: var(--lw-pattern); margin: 0 0 12px; max-width: 78ch; }
    .error:empty { display: none; }
    .uses { display: grid; gap: 4px 18px; grid-template-columns: max-content minmax(0, 1fr); align-items: baseline; }
    .uses h3 { padding-top: 12px; }
    a { color: inherit; }
    @media (max-width: 1060px) { .head { grid-template-columns: minmax(0, 1fr); } }
    @media (max-width: 640px) {
      dl, .uses { grid-template-columns: minmax(0, 1fr); } dl { gap: 1px; } dd { margin-bottom: 8px; } .uses h3 { padding-top: 6px; }
      h1 { font-size: 25px; }
    }
    h2, h2 + p { break-after: avoid; break-inside: avoid; }
    section { break-inside: avoid; }
    @media print { .scene, .try { display: none; } pre { border-left-width: 2px; } .pictures { grid-template-columns: 1fr 1fr; } }
  `];
  @property({ attribute: false }) descriptor!: Descriptor;
  @property({ attribute: false }) catalogue: Descriptor[] = [];
  @property({ attribute: false }) engine!: Lengthwise;
  @state() private values: Values = {};
  @state() private scene: Scene = { tokens: 64, head: 0, causal: true, text: sampleText };
  @state() private seen = unseen;
  @state() private problem = '';
  @state() private waiting?: ReturnType<typeof setTimeout>;
  private took = 0; // ms for the last pictures

  protected override willUpdate(changed: PropertyValues) {
    if (changed.has('descriptor')) {
      this.values = valuesOf(this.descriptor.example);
      this.scene = { ...this.scene, causal: true, tokens: Math.min(this.descriptor.past === 'refuses' ? trainedLength : 2 * trainedLength, this.mostTokens) };
      this.seen = unseen;
      this.look();
    } else if (changed.has('values') || changed.has('scene')) {
      // What is typed passes through other numbers, and a large one may take seconds.
      clearTimeout(this.waiting);
      if (changed.has('values') || this.took > slow) this.waiting = setTimeout(() => this.look(), pause);
      else this.look();
    }
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.waiting);
  }

  private look() {
    clearTimeout(this.waiting);
    this.waiting = undefined;
    const started = performance.now();
    try {
      this.seen = pictures(this.engine, this.spec, this.scene); // after a mistake the last pictures stay
      this.problem = '';
    } catch (error) {
      this.problem = (error as Error).message;
    }
    this.took = performance.now() - started;
  }

  private get mostTokens(): number { return this.descriptor.doors.includes('content') ? mostContentTokens : mostTokens; }

  private get usable(): string { return onlyNumbers(this.descriptor) ? `${this.spec}+rope` : this.spec; }

  /** The rope of a model that this is put on: it turns the same pairs, as fast. */
  private get trained(): string {
    const shared = ['base', 'pairing', 'fraction'].flatMap((option) => (this.descriptor.doors.includes('rotation') && this.values[option] !== undefined ? [`${option}=${this.values[option]}`] : []));
    return ['rope', ...shared].join(':');
  }

  private get auditShape(): EncodingShape { return { ...shape, causal: this.scene.causal }; }

  private get spec(): string { return specOf(this.descriptor.name, this.values); }

  override render() {
    const { t, descriptor: d } = this, { docs } = t, zh = this.language === 'zh';
    const header = headers[d.name];
    const facts: [string, unknown][] = [
      [t.opens, d.doors.length ? d.doors.map((door) => html`<span style="--hue: var(--lw-${door})"><i>${t.door[door]}</i>${t.doorNote[door]}<br></span>`) : t.noDoor],
      [t.pastL, zh ? docs.past[d.past] + d.past_note_zh : `${docs.past[d.past]} ${d.past_note}`],
      [docs.learns, d.learned ? (d.per_layer ? docs.learnedPerLayer : docs.learnedShared) : docs.learnedNot(d.options.length > 0)],
      [docs.mask, d.causal_only ? docs.causalOnly : docs.bothWays],
      ...(d.differs ? [[docs.differs, zh ? d.differs_zh : d.differs] as [string, unknown]] : []),
      ...(d.experiment.includes('>') ? [[t.putOnL, t.putOn] as [string, unknown]] : []),
      ...(d.paper ? [[t.paper, html`<span lang="en">${linked(d.paper)}</span>`] as [string, unknown]] : []),
      ...(header ? [[docs.source, html`<code>src/position/encodings/${d.name}.cpp</code>`] as [string, unknown]] : []),
    ];
    return html`<article style="--hue: var(--lw-${d.doors[0] ?? 'none'})">
      <div class="head"><div><h1 tabindex="-1">${titleOf(d, this.language)}</h1><p class="quiet"><code>${d.name}</code></p>
        <dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></div>
        <lengthwise-block .lang=${this.lang} .open=${d.doors}></lengthwise-block></div>
      <h2>${docs.equation}</h2>
      <pre lang="en" class="equation">${header ? header.equation.map((line) => html`<span>${typeset(line)}</span>`) : ownModule(d.name)}</pre>
      ${header?.notes ? html`<p class="notes quiet" lang="en">${typeset(header.notes)}</p>` : nothing}
      <h2>${docs.options}</h2>
      <lengthwise-options .lang=${this.lang} .descriptor=${d} .values=${this.values} @lw-options=${(e: CustomEvent<Values>) => { this.values = e.detail; }}></lengthwise-options>
      <h2>${docs.picturesTitle}</h2>
      <p class="quiet">${docs.picturesNote(heads, trainedLength)}</p>
      ${this.controls()}
      <p class="error" role="alert" lang="en">${this.problem}</p>
      <div class="pictures" aria-busy=${this.waiting !== undefined}>${this.seen.pictures.map((picture) => this.picture(picture))}</div>
      ${stretches.some(({ encodings }) => encodings[d.experiment]) ? html`<section><h2>${docs.measured.heading}</h2>
        <p class="quiet">${docs.measured.as} <code>${d.experiment}</code></p>
        <lengthwise-measured .lang=${this.lang} .descriptor=${d} .catalogue=${this.catalogue}></lengthwise-measured></section>` : nothing}
      <h2>${docs.audit.title}</h2>
      ${this.usable === this.spec ? nothing : html`<p class="quiet">${docs.audit.usedAs(this.usable)}</p>`}
      <lengthwise-audit .lang=${this.lang} .spec=${this.usable} .shape=${this.auditShape}></lengthwise-audit>
      <h2>${docs.use}</h2>${this.uses()}
    </article>`;
  }

  private picture(picture: Picture) {
    if (picture.kind === 'sentence') return html`<p class="sentence wide">${this.t.docs.sentences[picture.reason]}</p>`;
    const { letters } = this.seen;
    return html`<lengthwise-picture class=${letters.length && picture.x === 'token' ? 'wide' : ''} .lang=${this.lang} .picture=${picture} .letters=${letters}></lengthwise-picture>`;
  }

  private controls() {
    const { scene, seen, t, t: { docs } } = this;
    if (seen.pictures.length && seen.pictures.every((picture) => picture.kind === 'sentence')) return nothing;
    const set = (part: Partial<Scene>) => { this.scene = { ...scene, ...part }; };
    const range = (label: string, value: number, least: number, most: number, change: (n: number) => void) => html`<label>${label}${t.colon}${value}
      <input type="range" min=${least} max=${most} .value=${String(value)} @input=${(e: Event) => change((e.target as HTMLInputElement).valueAsNumber)}></label>`;
    const byHead = seen.pictures.some((picture) => picture.kind === 'map' && picture.head !== undefined);
    const masked = seen.pictures.some((picture) => picture.kind !== 'sentence' && [picture.x, picture.y].some((axis) => axis === 'key' || axis === 'query' || axis === 'bias'));
    return html`<div class="scene">
      ${seen.readsTokens
        ? html`<label>${docs.sampleText}<input type="text" .value=${scene.text} maxlength=${mostTokens} @input=${(e: Event) => set({ text: (e.target as HTMLInputElement).value })}></label>`
        : range(docs.tokens, scene.tokens, 8, this.mostTokens, (tokens) => set({ tokens }))}
      ${byHead ? range(docs.head, scene.head + 1, 1, heads, (head) => set({ head: head - 1 })) : nothing}
      ${this.descriptor.causal_only || !masked ? nothing : html`<label class="check"><input type="checkbox" .checked=${scene.causal} @change=${(e: Event) => set({ causal: (e.target as HTMLInputElement).checked })}>${docs.causal}</label>`}
    </div>`;
  }

  private uses() {
    const { docs } = this.t, spec = this.usable;
    const tried = this.descriptor.experiment.includes('>') ? `${this.trained}>${spec}` : spec;
    const own = ownModule(this.descriptor.name) !== undefined, file = `./${this.descriptor.name}.mjs`, mine = `import mine from '${file}';`;
    const javaScript = `import { load } from 'lengthwise';\n${own ? `${mine}\n` : ''}const lw = await load();\n${own ? 'lw.register(mine);\n' : ''}const encoding = lw.encoding('${spec}', { heads: 4, headDim: 64 });`;
    const experiment = `${places.lab}${toHash({ ...defaults, encodings: [...new Set(['nope', 'rope', tried])] })}`;
    const use = (title: string, code: string) => html`<h3>${title}</h3><pre class="use">${code.split('\n').map((line) => html`<span>${line}</span>`)}</pre>`;
    return html`<div class="uses">${use(docs.asSpec, spec)}${use(docs.inJavaScript, javaScript)}${use(docs.onCommandLine, `npx lengthwise compare --encodings '${[...new Set(['nope', own ? tried.replace(this.descriptor.name, file) : tried])].join(',')}'`)}</div>
      <p class="try"><a class="link" href=${experiment}>${docs.tryIt}</a></p>`;
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-entry': Entry } }
