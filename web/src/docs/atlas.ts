import { css, html, nothing, svg } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { stretches, type Stretch, type Stretched } from 'virtual:stretch-records';
import { base, doors } from '../theme.ts';
import { Localised } from '../localised.ts';
import { logTicks } from '../charts/chart.ts';
import { shortTitle } from '../dress.ts';
import { protocol, reading } from './measured.ts';
import type { Descriptor } from '../engine.ts';

interface Row { descriptor: Descriptor; name: string; tests: Stretched['tests'] }
type Order = 'longest' | 'trained';

// All encodings on one scale: where each is at the length it was trained on and at the longest, the best first.
@customElement('lengthwise-atlas')
export class Atlas extends Localised {
  static override styles = [base, css`
    h2 { font: 600 17px/1.3 var(--lw-serif); }
    p { max-width: 78ch; margin: 4px 0 0; }
    .bar, .bar div { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: baseline; }
    .bar { margin: 10px 0; }
    .bar span { color: var(--lw-muted); font-size: 13px; }
    .bar button { min-height: 24px; color: var(--lw-muted); border-bottom: 2px solid transparent; }
    .bar button[aria-pressed=true] { color: var(--lw-ink); border-color: var(--lw-ink); }
    @media (forced-colors: active) { .bar button[aria-pressed=false] { border-color: Canvas; } }
    .key { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 12px; color: var(--lw-muted); }
    .key svg { width: 14px; height: 14px; vertical-align: -2px; }
    .key .door i { display: inline-block; width: 8px; height: 8px; margin-right: 5px; background: var(--hue); border-radius: 50%; }
    ol { list-style: none; margin: 0; padding: 0; }
    li, .scale { display: grid; grid-template-columns: minmax(150px, 230px) minmax(0, 1fr) 52px 58px; gap: 0 14px; align-items: center; }
    li:hover { background: var(--lw-shade); }
    li a { color: inherit; text-decoration: none; font-size: 13px; min-height: 24px; display: flex; align-items: center; gap: 7px; overflow-wrap: anywhere; }
    li a:hover { text-decoration: underline; text-underline-offset: 3px; }
    li a i { flex: none; width: 8px; height: 8px; background: var(--hue); border-radius: 50%; }
    .strip { display: block; width: 100%; height: 24px; overflow: visible; }
    .strip line.grid { stroke: var(--lw-line); }
    .strip line.span { stroke: var(--hue); stroke-width: 2; stroke-opacity: .45; }
    .strip circle { fill: var(--hue); }
    .strip .trained, .key .trained { fill: var(--lw-paper); stroke: var(--hue, var(--lw-muted)); stroke-width: 1.8; }
    .key circle { fill: var(--lw-muted); }
    .numbers { font-size: 12px; text-align: right; white-space: nowrap; }
    .scale { font-size: 12px; color: var(--lw-muted); }
    .scale div { position: relative; height: 18px; grid-column: 2; }
    .scale div span { position: absolute; transform: translateX(-50%); }
    small { display: block; margin-top: 10px; color: var(--lw-muted); max-width: 78ch; }
    code { font-size: 11px; }
    @media (max-width: 640px) {
      li { grid-template-columns: minmax(0, 1fr) 44px 52px; padding-bottom: 4px; }
      .scale { grid-template-columns: minmax(0, 1fr) 44px 52px; } .scale div { grid-column: 1 / -1; grid-row: 2; }
      .scale .numbers { grid-row: 1; grid-column: 3; } .scale div + .numbers { grid-column: 2; }
      li .strip { grid-column: 1 / -1; grid-row: 2; }
    }
    @media print { h2, h2 + p, .bar, .key, .scale { break-after: avoid; } li { break-inside: avoid; } .bar button { display: none; } .bar button[aria-pressed=true] { display: inline; } }
  `];
  @property({ attribute: false }) catalogue: Descriptor[] = [];
  @state() private task = stretches[0]?.task;
  @state() private order: Order = 'longest';

  override render() {
    const stretch = stretches.find(({ task }) => task === this.task);
    if (!stretch) return nothing;
    const { t } = this, words = t.docs.measured, { task, trainLength, testLengths } = stretch, longest = testLengths.at(-1)!;
    const rows = this.rows(stretch), at = scale(stretch, rows);
    const pick = (label: string, on: boolean, act: () => void) => html`<button aria-pressed=${on} @click=${act}>${label}</button>`;
    const dot = (radius: number, kind = '') => html`<svg viewBox="0 0 14 14" aria-hidden="true"><circle class=${kind} cx="7" cy="7" r=${radius} /></svg>`;
    return html`<section aria-labelledby="atlas"><h2 id="atlas">${words.title(trainLength, longest)}</h2>
      <p class="quiet">${words.lead(rows.length)}</p>
      <div class="bar">${stretches.length > 1 ? html`<div role="group" aria-labelledby="task"><span id="task">${t.task}${t.colon}</span>${stretches.map((s) => pick(t.tasks[s.task], s === stretch, () => { this.task = s.task; }))}</div>` : nothing}
        <div role="group" aria-labelledby="order"><span id="order">${words.orderBy}${t.colon}</span>${pick(words.at(longest), this.order === 'longest', () => { this.order = 'longest'; })}${pick(words.at(trainLength), this.order === 'trained', () => { this.order = 'trained'; })}</div></div>
      <div class="key"><span>${task === 'text' ? t.perplexityAxis : t.accuracyAxis}</span><span>${dot(4.2, 'trained')} ${t.trained(trainLength)}</span><span>${dot(2)} ${testLengths.slice(1, -1).join(', ')}</span><span>${dot(4.6)} ${longest}</span>
        ${doors.filter((door) => rows.some(({ descriptor }) => descriptor.doors[0] === door)).map((door) => html`<span class="door" style="--hue: var(--lw-${door})"><i class="hue"></i>${t.door[door]}</span>`)}</div>
      <div class="scale" aria-hidden="true"><div>${at.ticks.map((tick) => html`<span style="left: ${at(tick)}%">${task === 'text' ? tick : `${100 * tick} %`}</span>`)}</div><span class="numbers">${trainLength}</span><span class="numbers">${longest}</span></div>
      <ol>${rows.map((row) => this.row(stretch, row, at))}</ol>
      <small>${protocol(t, stretch)}</small></section>`;
  }

  private rows({ encodings, testLengths }: Stretch): Row[] {
    const all = this.catalogue.flatMap((descriptor): Row[] => {
      const measured = encodings[descriptor.experiment];
      return measured ? [{ descriptor, name: shortTitle(descriptor.experiment, this.catalogue, this.language), tests: measured.tests }] : [];
    });
    const length = this.order === 'longest' ? testLengths.at(-1) : testLengths[0], better = this.task === 'text' ? 1 : -1;
    const rank = ({ tests }: Row) => { const mean = tests.find((test) => test.length === length)?.mean; return mean === undefined ? Infinity : better * mean; };
    return all.sort((a, b) => rank(a) - rank(b) || 0);
  }

  private row({ task, trainLength }: Stretch, { descriptor, name, tests }: Row, at: Scale) {
    const known = tests.filter((test) => test.mean !== undefined), values = known.map((test) => at(test.mean!));
    const first = known.find(({ length }) => length === trainLength), last = tests.at(-1)!;
    const radius = (length: number) => (length === trainLength ? 4.2 : length === last.length ? 4.6 : 2);
    // Filled dots first: where nothing changes the ring stays to be seen around them.
    return html`<li style="--hue: var(--lw-${descriptor.doors[0] ?? 'none'})"><a href="#${descriptor.name}" title=${descriptor.experiment}><i class="hue"></i>${name}</a>
      <svg class="strip" aria-hidden="true">${at.ticks.map((tick) => svg`<line class="grid" x1="${at(tick)}%" x2="${at(tick)}%" y1="0" y2="24" />`)}
        <line class="span" x1="${Math.min(...values)}%" x2="${Math.max(...values)}%" y1="12" y2="12" />
        ${[...known].reverse().map(({ length, mean }) => svg`<circle class=${length === trainLength ? 'trained' : ''} cx="${at(mean!)}%" cy="12" r=${radius(length)} />`)}</svg>
      <span class="numbers">${first ? reading(task, first.mean!) : '–'}</span><span class="numbers">${last.mean === undefined ? this.t.refused : reading(task, last.mean)}</span></li>`;
  }
}

/** Where a value lies, in per cent of the width. */
type Scale = ((value: number) => number) & { ticks: number[] };
function scale({ task }: Stretch, rows: Row[]): Scale {
  const values = rows.flatMap(({ tests }) => tests.flatMap(({ mean }) => mean ?? []));
  if (task !== 'text') return Object.assign((value: number) => 2 + 96 * value, { ticks: [0, 0.25, 0.5, 0.75, 1] });
  const low = Math.log(Math.min(...values)), high = Math.log(Math.max(...values));
  return Object.assign((value: number) => 2 + (96 * (Math.log(value) - low)) / (high - low || 1), { ticks: logTicks(Math.exp(low), Math.exp(high)) });
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-atlas': Atlas } }
