import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Audit, EncodingShape } from 'lengthwise';
import { load, type RemoteLengthwise } from 'lengthwise/worker';
import { base, type Door } from '../theme.ts';
import { Localised } from '../localised.ts';
import { modulesOf } from '../own.ts';

/** One number: its name, what is said of it, and how much of its bar is filled (none: no bar). */
interface Measure { name: string; value: string; share?: number }
interface Card { title: string; asks: string; finds: string; sentence?: unknown; measures: Measure[]; half?: string }

const pause = 250; // ms without a change before it is measured: a slider passes many values

let crew: Promise<RemoteLengthwise> | undefined;
const worker = (): Promise<RemoteLengthwise> => (crew ??= load());

async function audited(spec: string, shape: EncodingShape) {
  const lw = await worker();
  for (const code of modulesOf([spec])) await lw.register(code, { replace: true });
  return lw.audit(spec, shape);
}

// What textbooks ask of an encoding, measured in a worker as one looks: numbers, no marks.
@customElement('lengthwise-audit')
export class AuditElement extends Localised {
  static override styles = [base, css`
    .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); gap: 22px 32px; }
    .cards[aria-busy=true] { filter: grayscale(1); }
    section { border-top: 2px solid var(--hue, var(--lw-line)); padding-top: 8px; break-inside: avoid; }
    h3 { font: 600 15px/1.3 var(--lw-serif); color: var(--lw-ink); }
    p { margin: 0; font-size: 13px; }
    [role=status] { margin-bottom: 14px; max-width: 78ch; break-after: avoid; break-inside: avoid; }
    .finds { margin: 7px 0 8px; font-weight: 600; font-size: 14px; }
    .sentence { margin-bottom: 6px; overflow-wrap: anywhere; }
    dl { display: grid; grid-template-columns: minmax(0, 1fr) minmax(150px, max-content); gap: 5px 10px; align-items: center; margin: 0; font-size: 13px; }
    dt { color: var(--lw-muted); line-height: 1.3; }
    dd { margin: 0; white-space: nowrap; display: flex; align-items: center; justify-content: end; gap: 10px; }
    .bar { position: relative; height: 9px; flex: 0 0 84px; margin-right: auto; background: var(--lw-shade); box-shadow: inset 0 0 0 1px var(--lw-line); }
    .bar i { position: absolute; inset: 0 auto 0 0; background: var(--hue, var(--lw-muted)); }
    .half .bar::after { content: ""; position: absolute; left: 50%; top: -3px; bottom: -3px; border-left: 1px solid var(--lw-ink); }
    small { display: block; margin-top: 6px; color: var(--lw-muted); }
    .error { color: var(--lw-pattern); max-width: 78ch; }
  `];
  @property({ attribute: false }) spec = '';
  @property({ attribute: false }) shape: EncodingShape = {};
  @state() result?: Audit;
  @state() problem = '';
  @state() busy = false;
  private waiting?: ReturnType<typeof setTimeout>;
  private asked = '';

  protected override willUpdate(changed: PropertyValues) {
    const wanted = JSON.stringify([this.spec, this.shape]);
    if (!(changed.has('spec') || changed.has('shape')) || wanted === this.asked) return;
    this.asked = wanted;
    this.busy = true;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => void this.measure(wanted), this.result ? pause : 0);
  }

  private async measure(wanted: string) {
    const outcome = await audited(this.spec, this.shape).then((result) => ({ result, problem: '' }), (error: Error) => ({ result: undefined, problem: error.message }));
    if (wanted !== this.asked) return; // another one has been asked for
    Object.assign(this, outcome, { busy: false });
  }

  override render() {
    const { t: { docs: { audit: words } } } = this;
    return html`<p class="quiet" role="status">${this.busy ? words.measuring : this.result ? words.note(this.result.length) : nothing}</p>
      ${this.problem ? html`<p class="error" role="alert" lang="en">${this.problem}</p>` : nothing}
      ${this.result ? html`<div class="cards" aria-busy=${this.busy}>${this.cards(this.result).map((card) => this.card(card))}</div>` : nothing}`;
  }

  private card({ title, asks, finds, sentence, measures, half }: Card) {
    return html`<section class=${half ? 'half' : ''}><h3>${title}</h3><p class="quiet">${asks}</p>
      <p class="finds">${finds}</p>
      ${sentence ? html`<p class="sentence quiet">${sentence}</p>` : nothing}
      ${measures.length ? html`<dl>${measures.map(({ name, value, share }) => html`<dt>${name}</dt>
        <dd>${share === undefined ? nothing : html`<span class="bar hue" aria-hidden="true"><i style="width: ${Math.round(100 * share)}%"></i></span>`}${value}</dd>`)}</dl>` : nothing}
      ${half && measures.some((m) => m.share !== undefined) ? html`<small>${half}</small>` : nothing}</section>`;
  }

  private cards({ unique, deterministic, past, content, cost }: Audit): Card[] {
    const { audit: words } = this.t.docs, [a, b] = unique.positions;
    const { again, training, longer } = deterministic;
    const newest = measured([[words.distances, past.distances], [words.angles, past.angles], [words.rows, past.rows], [words.factors, past.factors], [words.weight, past.weight]]);
    const beside = measured([[words.input, content.input], [words.bias, content.bias]]);
    const freshest = most(newest), loudest = most(beside);
    return [
      {
        ...words.unique, finds: unique.distance === 0 ? words.alike(a, b) : words.nearest(a, b),
        measures: [{ name: words.distance, value: unique.distance === null ? '∞' : short(unique.distance), share: Math.min(unique.distance ?? 1, 1) }],
      },
      {
        ...words.deterministic, finds: training ? words.random : longer ? words.byLength : words.same,
        measures: [[words.again, again], [words.training, training], [words.longer, longer]].map(([name, value]) => (
          { name: name as string, value: value === null ? words.refused : value === 0 ? words.noDifference : words.differs(short(value as number), this.t.door[deterministic.door as Door]) })),
      },
      {
        ...words.past, sentence: past.refused ? html`<span lang="en">${past.refused}</span>` : past.trained ? words.trainedWith(past.trained) : undefined,
        finds: past.refused ? words.refuses : freshest >= 0.01 ? words.upTo(percent(freshest)) : freshest ? words.hardlyNew : newest.length ? words.nothingIsNew : words.nothingNew,
        measures: newest.map(([name, value]) => ({ name, value: percent(value), share: value })),
      },
      {
        ...words.content, half: words.halfContent, finds: loudest ? words.times(short(loudest)) : beside.length ? words.leaves : words.addsNothing,
        measures: beside.map(([name, value]) => ({ name, value: `${short(value)} ×`, share: value / (1 + value) })),
      },
      {
        ...words.cost, half: words.halfCost, finds: words.learned(cost.parameters),
        measures: [
          { name: words.bytes, value: `${short(cost.bytes / 1024)} KB` },
          { name: words.planning, value: `${short(cost.planning)} ×`, share: cost.planning / (1 + cost.planning) },
          { name: words.attention, value: `${short(cost.attention)} ×`, share: cost.attention / (1 + cost.attention) },
        ],
      },
    ];
  }
}

const measured = (all: [string, number | null][]) => all.filter((one): one is [string, number] => one[1] !== null);
const most = (all: [string, number][]) => Math.max(0, ...all.map(([, v]) => v));
const short = (value: number): string => (value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2))));
const percent = (value: number): string => `${value > 0 && value < 0.01 ? '< 1' : Math.round(100 * value)} %`;
declare global { interface HTMLElementTagNameMap { 'lengthwise-audit': AuditElement } }
