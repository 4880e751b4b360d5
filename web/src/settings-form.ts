import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { base } from './theme.ts';
import { Localised } from './localised.ts';
import type { Text } from './engine.ts';
import { leastBytes, limits, shortestText, sizes, tasks, type Settings } from './settings.ts';

// Everything but the encodings. Fires `lw-settings` (detail: the changed part) and `lw-text` (detail: Text or undefined).
@customElement('lengthwise-settings')
export class SettingsForm extends Localised {
  static override styles = [base, css`
    :host { display: grid; gap: 14px; }
    fieldset { min-width: 0; }
    legend { margin-bottom: 4px; padding: 0; }
    .segments { display: flex; border-bottom: 1px solid var(--lw-line); }
    .segments label { flex: 1; text-align: center; position: relative; cursor: pointer; color: var(--lw-muted); padding: 4px 2px; min-height: 28px; white-space: nowrap; }
    .segments label:hover { color: var(--lw-ink); }
    .segments input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
    .segments label:has(:checked) { color: var(--lw-ink); font-weight: 600; box-shadow: inset 0 -2px var(--lw-ink); }
    @media (forced-colors: active) { .segments label:has(:checked) { border-bottom: 3px solid Highlight; } }
    .segments label:has(:focus-visible) { outline: 2px solid var(--lw-rotation); border-radius: 3px; }
    .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; }
    .note { font-size: 12px; color: var(--lw-muted); margin-top: 4px; }
    .error { color: var(--lw-pattern); }
    input[type=number] { width: 100%; height: 29px; border: 0; border-bottom: 1px solid var(--lw-line); background: none; padding: 0 2px; }
    label.field { font-size: 12px; font-weight: 600; color: var(--lw-muted); }
    label.field input { font-size: 14px; font-weight: 400; color: var(--lw-ink); }
    details summary { cursor: pointer; color: var(--lw-muted); font-size: 12px; min-height: 24px; padding-top: 3px; }
    textarea { width: 100%; height: 90px; border: 1px solid var(--lw-line); background: var(--lw-raised); border-radius: 4px; margin: 6px 0; padding: 6px; font-size: 12px; }
    .row { display: flex; flex-wrap: wrap; gap: 12px; }
  `];
  @property({ attribute: false }) settings!: Settings;
  @property({ attribute: false }) own?: Text;
  @state() private refused?: number; // bytes of a text that was too short to be taken
  @state() private outside = false;  // the number of steps that was typed

  override render() {
    const { t, settings: s } = this, bytes = this.own ? this.own.train.length + this.own.test.length : 0;
    return html`
      <fieldset>${this.segments('task', t.task, tasks.map((task) => [task, t.tasks[task]]))}
        <p class="note">${s.task === 'text' && bytes ? t.ownTextUsed(bytes) : t.taskNotes[s.task]}</p>
        ${s.task === 'text' && bytes && bytes < leastBytes(s) ? html`<p class="note error" role="alert">${t.ownTextShort(bytes, leastBytes(s))}</p>` : nothing}
        ${s.task === 'text' ? this.ownText() : nothing}</fieldset>
      <fieldset>${this.segments('size', t.size, Object.keys(sizes).map((size) => [size, t.sizes[size as Settings['size']]]))}</fieldset>
      <div class="pair">
        <fieldset>${this.segments('length', t.trainedLength, numbers([32, 64, 128], s.length))}</fieldset>
        <fieldset>${this.segments('reach', t.reach, numbers([4, 8, 16], s.reach).map(([value, label]) => [value, `×${label}`]))}</fieldset>
        <label class="field">${t.steps}<input type="number" min=${limits.steps[0]} max=${limits.steps[1]} step="1" .value=${String(s.steps)}
          @change=${(e: Event) => this.set('steps', (e.target as HTMLInputElement))}><span class="note" role="status">${this.outside ? t.within(...limits.steps) : ''}</span></label>
        <fieldset>${this.segments('seeds', t.seeds, numbers([1, 3, 5], s.seeds))}</fieldset>
      </div>`;
  }

  private segments(key: 'task' | 'size' | 'length' | 'reach' | 'seeds', title: string, options: [string | number, string][]) {
    return html`<legend>${title}</legend><div class="segments">${options.map(([value, label]) => html`
      <label><input type="radio" name=${key} .checked=${this.settings[key] === value} @change=${() => this.change({ [key]: value })}>${label}</label>`)}</div>`;
  }

  private ownText() {
    const { t } = this;
    return html`<details><summary>${t.ownText}</summary>
      <p class="note">${t.ownTextNote}</p>
      <input type="file" accept=".txt,.md,text/*" aria-label=${t.ownTextFile} @change=${this.readFile}>
      <textarea aria-label=${t.ownTextArea}></textarea>
      <p class="row"><button class="link" @click=${this.useArea}>${t.ownTextUse}</button>
        ${this.own ? html`<button class="link" @click=${() => this.use(undefined)}>${t.ownTextNone}</button>` : nothing}</p>
      <p class="note error" role="alert">${this.refused === undefined ? '' : t.ownTextShort(this.refused, leastBytes(this.settings))}</p></details>`;
  }

  private async readFile(event: Event) {
    const file = (event.target as HTMLInputElement).files?.[0];
    if (file) this.offer(new Uint8Array(await file.arrayBuffer()));
  }

  private useArea() { this.offer(new TextEncoder().encode(this.renderRoot.querySelector('textarea')!.value)); }

  private offer(bytes: Uint8Array) {
    const border = Math.floor(bytes.length * 0.9);
    if (bytes.length < shortestText) this.refused = bytes.length;
    else this.use({ train: bytes.slice(0, border), test: bytes.slice(border) });
  }

  private use(text?: Text) {
    this.refused = undefined;
    this.dispatchEvent(new CustomEvent('lw-text', { detail: text }));
  }

  private set(key: 'steps', input: HTMLInputElement) {
    const [least, most] = limits[key];
    const given = input.valueAsNumber, value = Number.isNaN(given) ? this.settings[key] : Math.round(Math.min(most, Math.max(least, given)));
    this.outside = value !== given;
    input.value = String(value);
    this.change({ [key]: value });
  }

  private change(part: Partial<Settings>) { this.dispatchEvent(new CustomEvent('lw-settings', { detail: part })); }
}

// A value that came by a link joins the usual ones.
const numbers = (usual: number[], value: number): [number, string][] =>
  [...new Set([...usual, value])].sort((a, b) => a - b).map((n) => [n, String(n)]);
declare global { interface HTMLElementTagNameMap { 'lengthwise-settings': SettingsForm } }
