import { css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { base } from './theme.ts';
import { Localised } from './localised.ts';
import { measureOf, stretch, type Lab, type Point } from './lab.ts';
import { testLengths } from './settings.ts';
import type { Wardrobe } from './dress.ts';

// The numbers behind the stretch chart, as a table.
@customElement('lengthwise-results')
export class Results extends Localised {
  static override styles = [base, css`
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-size: 13px; }
    caption { text-align: left; color: var(--lw-muted); font-size: 12px; padding-bottom: 6px; }
    th, td { text-align: right; padding: 5px 10px; font-weight: 400; white-space: nowrap; border-bottom: 1px solid var(--lw-line); }
    th[scope=row], thead th:first-child { text-align: left; padding-left: 0; }
    thead th { color: var(--lw-muted); }
    .past { background: var(--lw-shade); }
    .trained { border-right: 1px solid var(--lw-ink); }
    abbr { color: var(--lw-muted); text-decoration: none; cursor: help; }
    small { color: var(--lw-muted); display: block; font-size: 11px; }
    @media print {
      th, td { padding: 3px 5px; font-size: 11px; }
      th { white-space: normal; }
      tr { break-inside: avoid; }
    }
    .swatch { display: inline-block; width: 14px; height: 3px; margin-right: 8px; vertical-align: middle; background: var(--hue); }
  `];
  @property({ attribute: false }) lab!: Lab;
  @property({ attribute: false }) version = 0;
  @property({ attribute: false }) dress!: Wardrobe;
  @property({ attribute: false }) name: (spec: string) => string = (spec) => spec;

  override render() {
    const { t, lab } = this, { settings } = lab;
    const points = stretch(lab);
    if (!points.length) return html`<p class="quiet">${t.resultsEmpty}</p>`;
    const lengths = testLengths(settings), accuracy = measureOf(settings.task) === 'accuracy';
    const axis = accuracy ? t.accuracyAxis : t.perplexityAxis;
    const side = (n: number) => (n > settings.length ? 'past' : n === settings.length ? 'trained' : '');
    const number = (v: number) => (accuracy ? `${(100 * v).toFixed(1)} %` : v >= 1000 ? v.toExponential(2) : v.toFixed(2));
    const cell = (encoding: string, n: number, p?: Point) => (p ? html`${number(p.mean)}${p.seeds > 1 ? html`<small>${number(p.low)} – ${number(p.high)}</small>` : ''}` : lab.refusal(encoding, n) ? html`<abbr lang="en" title=${lab.refusal(encoding, n)!}><span lang=${this.language}>${t.refused}</span></abbr>` : '–');
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${t.resultsTitle}><table>
      <caption>${axis}${settings.seeds > 1 ? t.ofSeeds : ''}</caption>
      <thead><tr><th scope="col">${t.testLength}</th>${lengths.map((n) => html`<th scope="col" class=${side(n)}>${n}</th>`)}<th scope="col">${t.atStep}</th></tr></thead>
      <tbody>${settings.encodings.map((encoding) => {
        const row = points.filter((p) => p.encoding === encoding);
        return html`<tr style="--hue: ${this.dress(encoding).stroke}"><th scope="row"><span class="swatch hue"></span>${this.name(encoding)}</th>
          ${lengths.map((n) => html`<td class=${side(n)}>${cell(encoding, n, row.find((p) => p.length === n))}</td>`)}
          <td>${row.length ? Math.min(...row.map((p) => p.step)) : '–'}</td></tr>`;
      })}</tbody></table></div>`;
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-results': Results } }
