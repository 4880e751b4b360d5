import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { OptionDescriptor } from 'lengthwise';
import { base } from '../theme.ts';
import { Localised } from '../localised.ts';
import type { Descriptor } from '../engine.ts';

/** The options that were changed, as text. */
export type Values = Record<string, string>;

export const textOf = (value: OptionDescriptor['default']): string => (Array.isArray(value) ? value.join(';') : String(value));

export function specOf(name: string, values: Values): string {
  return [name, ...Object.entries(values).map(([option, value]) => `${option}=${value}`)].join(':');
}

/** The other way: of "a=1:b=2". */
export const valuesOf = (options: string): Values =>
  Object.fromEntries(options.split(':').filter(Boolean).map((option) => option.split('=') as [string, string]));

// The options of an encoding: what each means, its range and default, and a control. Fires `lw-options` (detail: Values).
@customElement('lengthwise-options')
export class OptionTable extends Localised {
  static override styles = [base, css`
    :host { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-size: 13px; }
    th { text-align: left; font-weight: 600; font-size: 12px; color: var(--lw-muted); padding: 0 14px 4px 0; white-space: nowrap; }
    td { padding: 5px 14px 5px 0; border-top: 1px solid var(--lw-line); vertical-align: baseline; }
    td.range { white-space: nowrap; color: var(--lw-muted); }
    td:last-child { width: 50%; min-width: 16ch; }
    input:not([type=checkbox]), select { width: 11ch; height: 28px; border: 0; border-bottom: 1px solid var(--lw-line); background: none; padding: 0 2px; }
    select { width: auto; color-scheme: inherit; } option { background: var(--lw-raised); color: var(--lw-ink); }
    input[type=checkbox] { width: 18px; height: 18px; accent-color: var(--lw-rotation); vertical-align: middle; }
    @media (max-width: 640px) {
      thead { display: none; }
      tr { display: grid; grid-template-columns: auto 1fr; gap: 2px 14px; border-top: 1px solid var(--lw-line); padding: 8px 0; align-items: baseline; }
      td { border: 0; padding: 0; } td.range { white-space: normal; } td:last-child { grid-column: 1 / -1; width: auto; }
      td.range { grid-column: 1 / -1; } td.range::before { content: attr(data-label); }
    }
  `];
  @property({ attribute: false }) descriptor!: Descriptor;
  @property({ attribute: false }) values: Values = {};

  override render() {
    const { t, descriptor } = this, { docs } = t;
    if (!descriptor.options.length) return html`<p class="quiet">${docs.noOptions}</p>`;
    return html`<table><thead><tr><th scope="col">${docs.option}</th><th scope="col">${docs.value}</th><th scope="col">${docs.byDefault}</th><th scope="col">${docs.range}</th><th scope="col">${docs.meaning}</th></tr></thead>
      <tbody>${descriptor.options.map((option) => html`<tr><td><code id="name-${option.name}">${option.name}</code></td>
        <td>${this.control(option)}</td><td class="range" data-label="${docs.byDefault}${t.colon}">${this.word(option.default)}</td><td class="range" data-label="${docs.range}${t.colon}">${this.range(option)}</td>
        <td>${this.language === 'zh' ? option.meaning_zh : option.meaning}</td></tr>`)}</tbody></table>`;
  }

  private word(value: OptionDescriptor['default']): string {
    return typeof value === 'boolean' ? this.t.docs.flag(value) : textOf(value) || '–';
  }

  private range({ kind, least, most, choices }: OptionDescriptor): string {
    if (kind === 'flag') return `${this.t.docs.flag(true)}, ${this.t.docs.flag(false)}`;
    return kind === 'choice' ? choices!.join(', ') : `${readable(least)} … ${readable(most)}`;
  }

  private control(option: OptionDescriptor) {
    const { name, kind, choices } = option, text = this.values[name] ?? textOf(option.default);
    const set = (value: string) => this.set(option, value);
    if (kind === 'flag') return html`<input type="checkbox" aria-labelledby="name-${name}" .checked=${text === 'true'} @change=${(e: Event) => set(String((e.target as HTMLInputElement).checked))}>`;
    if (kind === 'choice') {
      return html`<select aria-labelledby="name-${name}" .value=${text} @change=${(e: Event) => set((e.target as HTMLSelectElement).value)}>
        ${choices!.map((choice) => html`<option value=${choice} ?selected=${choice === text}>${choice}</option>`)}</select>`;
    }
    return html`<input type=${kind === 'numbers' ? 'text' : 'number'} aria-labelledby="name-${name}" .value=${text}
      min=${kind === 'numbers' ? nothing : option.least} max=${kind === 'numbers' ? nothing : option.most} step=${kind === 'integer' ? 1 : 'any'}
      placeholder=${kind === 'numbers' ? '1;2;3' : nothing} @input=${(e: Event) => set((e.target as HTMLInputElement).value.trim())}>`;
  }

  /** An empty field, or the default, is no change. */
  private set({ name, default: initial }: OptionDescriptor, value: string) {
    const { [name]: _, ...others } = this.values;
    const changed = value !== '' && value !== textOf(initial);
    this.dispatchEvent(new CustomEvent('lw-options', { detail: changed ? { ...others, [name]: value } : others }));
  }
}

const raised = (power: number) => [...String(power)].map((c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)] ?? '⁻').join('');

/** 16777216 is 2²⁴ and 1e12 is 10¹²; small numbers stay as they are. */
function readable(value: number): string {
  const size = Math.abs(value), sign = value < 0 ? '−' : '';
  const [two, ten] = [Math.log2(size), Math.log10(size)];
  if (size >= 65536 && Number.isInteger(two)) return `${sign}2${raised(two)}`;
  if ((size >= 1e5 || (size > 0 && size <= 1e-3)) && Math.abs(ten - Math.round(ten)) < 1e-9) return `${sign}10${raised(Math.round(ten))}`;
  if (size >= 65535 && Number.isInteger(Math.log2(size + 1))) return `${sign}2${raised(Math.log2(size + 1))} − 1`;
  return String(value).replace('-', '−');
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-options': OptionTable } }
