import { css, html, nothing } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { base } from './theme.ts';
import { Localised } from './localised.ts';
import { engine } from './engine.ts';
import { places } from './places.ts';
import { addOwn, example, ownModule, ownNames, removeOwn } from './own.ts';

// An encoding of the visitor's own, in JavaScript. Fires `lw-own` when there is another set of them (detail: the name and
// whether it was added or removed).
@customElement('lengthwise-own-encoding')
export class OwnEncoding extends Localised {
  static override styles = [base, css`
    summary { padding: 3px 0; font-size: 13px; color: var(--lw-muted); cursor: pointer; min-height: 24px; }
    details[open] summary { color: var(--lw-ink); }
    textarea { width: 100%; border: 1px solid var(--lw-line); background: var(--lw-raised); border-radius: 4px; margin: 6px 0; padding: 6px 8px; font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; overflow: auto; }
    .note { font-size: 12px; }
    .row { display: flex; flex-wrap: wrap; gap: 12px; align-items: baseline; }
    ul { list-style: none; margin: 6px 0 0; padding: 0; font-size: 12px; }
    .error { color: var(--lw-pattern); font-size: 12px; margin-top: 6px; overflow-wrap: anywhere; white-space: pre-line; }
    .error:empty { display: none; }
    a { color: inherit; }
  `];
  @state() private error = '';
  @state() private said?: { did: 'added' | 'replaced' | 'removed'; name: string };

  override render() {
    const { t } = this, names = ownNames();
    return html`<details><summary>${t.own.title}</summary>
      <p class="note quiet">${t.own.note}</p>
      <textarea rows="7" aria-label=${t.own.code} aria-describedby="error" aria-invalid=${this.error !== ''} spellcheck="false" autocapitalize="off" autocomplete="off" .defaultValue=${example}
        @input=${this.hush}></textarea>
      <p class="row"><button class="link" data-action="own" @click=${this.add}>${t.own.add}</button><span class="note quiet" role="status">${this.said && t.own[this.said.did](this.said.name)}</span></p>
      <p class="error" id="error" role="alert" lang="en">${this.error}</p>
      ${names.length ? html`<ul aria-label=${t.own.list}>${names.map((name) => html`<li class="row"><code>${name}</code>
        <button class="link" aria-label="${t.own.edit}${t.colon}${name}" @click=${() => { this.area.value = ownModule(name)!; this.hush(); this.area.focus(); }}>${t.own.edit}</button>
        <button class="link" aria-label="${t.own.remove}${t.colon}${name}" @click=${() => this.remove_(name)}>${t.own.remove}</button>
        <a class="link" href="${places.encodings}#${name}">${t.own.look}</a></li>`)}</ul>` : nothing}</details>`;
  }

  private get area() { return this.renderRoot.querySelector('textarea')!; }

  private hush() {
    this.error = '';
    this.said = undefined;
  }

  private readonly add = async () => {
    this.hush();
    const known = ownNames();
    try {
      const name = await addOwn(await engine(), this.area.value);
      this.said = { did: known.includes(name) ? 'replaced' : 'added', name };
      this.tell(name, true);
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
    }
  };

  private async remove_(name: string) {
    removeOwn(await engine(), name);
    this.said = { did: 'removed', name };
    this.tell(name, false);
  }

  private tell(name: string, added: boolean) {
    this.requestUpdate();
    this.dispatchEvent(new CustomEvent('lw-own', { detail: { name, added }, bubbles: true, composed: true }));
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-own-encoding': OwnEncoding } }
