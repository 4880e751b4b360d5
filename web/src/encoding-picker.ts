import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { base, type Door } from './theme.ts';
import { Localised } from './localised.ts';
import { shortTitle, titleOf, type Wardrobe } from './dress.ts';
import { linked } from './paper.ts';
import { places } from './places.ts';
import { defaults, fineTuned, runnable, untuned } from './settings.ts';
import type { Descriptor } from './engine.ts';
import { ownModule } from './own.ts';
import './block.ts';
import './own-encoding.ts';

/** Why a spec cannot be run: a name that nothing has, or what the engine says. */
export type Fault = { unknown: string } | { message: string };

const usualSteps = 100; // of fine-tuning: enough to see what it does

// Which encodings to compare. Fires `lw-encodings` (detail: specs) and `lw-lit` (detail: the one under the pointer).
@customElement('lengthwise-encodings')
export class EncodingPicker extends Localised {
  static override styles = [base, css`
    header { display: flex; gap: 12px; align-items: baseline; margin-bottom: 8px; }
    header h3 { margin-right: auto; }
    ul { display: flex; flex-wrap: wrap; gap: 6px 5px; list-style: none; margin: 0; padding: 0; }
    li { display: flex; border: 1px solid var(--lw-line); border-radius: 15px; background: var(--lw-paper); }
    li.chosen { border-color: color-mix(in oklab, var(--hue), transparent 30%); background: color-mix(in oklab, var(--hue), var(--lw-paper) 88%); }
    details { margin-top: 6px; }
    summary { padding: 3px 0; font-size: 13px; color: var(--lw-muted); cursor: pointer; }
    summary span:first-child { border-bottom: 2px solid color-mix(in oklab, var(--hue), transparent 45%); }
    details[open] summary { color: var(--lw-ink); margin-bottom: 4px; }
    .name { display: flex; align-items: center; gap: 6px; padding: 2px 1px 2px 9px; min-height: 27px; text-align: left; font-size: 13px; color: var(--lw-muted); }
    .chosen .name { color: var(--lw-ink); }
    .name svg { width: 14px; height: 6px; opacity: .35; }
    .chosen .name svg { opacity: 1; }
    .wrong .name { text-decoration: line-through; }
    .error { color: var(--lw-pattern); font-size: 12px; margin-top: 6px; overflow-wrap: anywhere; }
    .info { width: 24px; height: 27px; color: var(--lw-muted); font: italic 13px var(--lw-serif); }
    .info:hover { color: var(--lw-ink); }
    lengthwise-block { margin-top: 14px; }
    form { display: flex; gap: 8px; margin-top: 8px; }
    input { flex: 1; min-width: 0; height: 28px; border: 0; border-bottom: 1px solid var(--lw-line); background: none; padding: 0 2px; }
    input::placeholder { color: var(--lw-muted); opacity: 1; }
    .note { font-size: 12px; margin: 4px 0 0; }
    [popover] { width: min(380px, calc(100vw - 24px)); max-height: calc(100dvh - 24px); overflow: auto; overscroll-behavior: contain; margin: 0; inset: auto; border: 1px solid var(--lw-line); border-radius: 8px; padding: 16px 18px; background: var(--lw-raised); color: var(--lw-ink); box-shadow: 0 12px 40px rgb(0 0 0 / .16); }
    [popover] h2 { font: 600 20px/1.2 var(--lw-serif); margin-bottom: 2px; }
    a { color: inherit; }
    dl { margin: 10px 0 0; font-size: 13px; }
    dt { color: var(--lw-muted); font-size: 12px; margin-top: 8px; } dd { margin: 0; }
    @media (forced-colors: active) { li.chosen { outline: 2px solid Highlight; outline-offset: -2px; } }
    .close { position: sticky; top: -8px; float: right; margin: -8px -10px 0 0; width: 28px; height: 28px; font-size: 18px; color: var(--lw-muted); background: var(--lw-raised); }
  `];
  @property({ attribute: false }) catalogue: Descriptor[] = [];
  @property({ attribute: false }) chosen: string[] = [];
  @property({ attribute: false }) dress!: Wardrobe;
  @property({ attribute: false }) fault: (spec: string) => Fault | undefined = () => undefined;
  @state() private wrong = ''; // the mix in the field, if it cannot be run
  @state() private pointed = '';
  @state() private shown?: Descriptor;
  private opener?: HTMLElement; // of what is shown

  override render() {
    const { t, catalogue, chosen } = this;
    const { presets } = this;
    const doors = (spec: string) => untuned(spec).split('>').at(-1)!.split(/[+|]/).flatMap((term) => catalogue.find((d) => d.name === term.trim().split(':')[0])?.doors ?? []);
    const six = defaults.encodings.filter((name) => presets.includes(name)), own = catalogue.filter((d) => ownModule(d.name)).map((d) => d.experiment), first = [...six, ...own];
    return html`
      <header><h3>${t.encodings}</h3>
        <button class="link" @click=${() => this.choose(six)}>${t.sixOfThem}</button>
        <button class="link" @click=${() => this.choose(presets)}>${t.all}</button>
        <button class="link" @click=${() => this.choose([])}>${t.none}</button></header>
      <ul aria-label=${t.encodings}>${[...first, ...chosen.filter((spec) => !presets.includes(spec))].map((spec) => this.chip(spec))}</ul>
      ${this.untried.length ? html`<p class="note"><button class="link" data-action="fine-tune" @click=${() => this.choose([...chosen, ...this.untried])}>${t.fineTuneToo(usualSteps)}</button></p>` : nothing}
      ${chosen.filter((spec) => this.fault(spec)).map((spec) => html`<p class="error">${t.leftOut(spec)}${this.why(spec)}</p>`)}
      ${[...(Object.keys(t.door) as Door[]), 'none' as const].map((door) => this.group(door, catalogue.filter((d) => (d.doors[0] ?? 'none') === door && !first.includes(d.experiment))))}
      <form @submit=${this.add}><input name="spec" aria-label=${t.addSpec} placeholder="${t.addSpec}${t.colon}${t.addSpecHint}" autocomplete="off" spellcheck="false" aria-describedby="wrong" aria-invalid=${this.wrong !== ''} @input=${() => (this.wrong = '')}>
        <button class="link">${t.add}</button></form>
      <p class="quiet note">${t.addSpecNote}</p>
      <p class="error" id="wrong" role="alert">${this.why(this.wrong)}</p>
      <lengthwise-own-encoding .lang=${this.lang}></lengthwise-own-encoding>
      <lengthwise-block .lang=${this.lang} .open=${(this.pointed ? [this.pointed] : chosen).flatMap(doors)}></lengthwise-block>
      <div popover id="about" role="dialog" @toggle=${this.closed} aria-label=${this.shown ? t.about(titleOf(this.shown, this.language)) : nothing}>${this.shown && this.about(this.shown)}</div>`;
  }

  // What is put on a trained model might be fine-tuned too, and beside it what the model was trained with.
  private get untried(): string[] {
    const put = this.chosen.filter((spec) => spec.includes('>') && !fineTuned(spec) && !this.fault(spec));
    const itself = (trained: string) => `${trained}>${trained}`;
    const specs = put.flatMap((spec) => [spec, itself(spec.split('>')[0]!)]).map((spec) => `${spec}@${usualSteps}`);
    return put.every((spec) => this.chosen.some((other) => fineTuned(other) && untuned(other) === spec)) ? [] : [...new Set(specs)].filter((spec) => !this.chosen.includes(spec));
  }

  private get presets() { return this.catalogue.map((d) => d.experiment); }

  // The rest of the catalogue, by the door that each opens first.
  private group(door: Door | 'none', members: Descriptor[]) {
    if (members.length === 0) return nothing;
    const { t, chosen } = this, specs = members.map((d) => d.experiment), on = specs.filter((spec) => chosen.includes(spec)).length, name = door === 'none' ? t.noDoor : t.door[door];
    return html`<details style="--hue: var(--lw-${door})">
      <summary><span>${name}</span> <span class="quiet">${on ? `${on} / ` : ''}${members.length}</span></summary>
      <ul aria-label=${name}>${specs.map((spec) => this.chip(spec))}</ul></details>`;
  }

  private chip(spec: string) {
    const { catalogue, chosen, dress, t } = this;
    const descriptor = catalogue[this.presets.indexOf(spec)];
    const on = chosen.includes(spec), title = shortTitle(spec, catalogue, this.language), { stroke, dash } = dress(spec);
    return html`<li class="${on ? 'chosen' : ''} ${on && this.fault(spec) ? 'wrong' : ''}" style="--hue: ${stroke}" @pointerenter=${(e: PointerEvent) => e.pointerType === 'mouse' && this.point(spec)} @pointerleave=${() => this.point('')}>
      <button class="name" aria-pressed=${on} @focus=${(e: Event) => (e.target as Element).matches(':focus-visible') && this.point(spec)} @blur=${() => this.point('')}
        @click=${() => this.choose(on ? chosen.filter((s) => s !== spec) : [...chosen, spec])}>
        <svg viewBox="0 0 14 6" aria-hidden="true"><path d="M0 3H14" style="stroke: ${stroke}; stroke-width: 3; stroke-dasharray: ${dash ? '4 1' : ''}"/></svg>${title}</button>
      ${descriptor
        ? html`<button class="info" aria-label=${t.about(title)} @click=${(e: Event) => this.show(descriptor, e.currentTarget as HTMLElement)}>i</button>`
        : html`<span style="width: 10px"></span>`}</li>`;
  }

  private why(spec: string) {
    const fault = spec ? this.fault(spec) : undefined;
    return !fault ? nothing : 'unknown' in fault ? this.t.noSuch(fault.unknown) : html`<span lang="en">${fault.message}</span>`;
  }

  private about(d: Descriptor) {
    const { t } = this, zh = this.language === 'zh';
    return html`<button class="close" autofocus aria-label=${t.block.close} @click=${() => this.popover_.hidePopover()}>×</button>
      <h2>${titleOf(d, this.language)}</h2><p class="quiet"><code>${d.name}</code></p>
      <lengthwise-block .lang=${this.lang} .open=${d.doors}></lengthwise-block>
      <dl>
        <dt>${t.opens}</dt><dd>${d.doors.map((door: string) => html`${t.door[door as Door]}${t.colon}${t.doorNote[door as Door]}<br>`)}${d.doors.length ? nothing : t.noDoor}</dd>
        <dt>${t.pastL}</dt><dd>${zh ? d.past_note_zh : d.past_note}</dd>
        ${d.experiment.includes('>') ? html`<dt>${t.putOnL}</dt><dd>${t.putOn}</dd>` : nothing}
        ${d.paper ? html`<dt>${t.paper}</dt><dd lang="en">${linked(d.paper)}</dd>` : nothing}
      </dl>${d.learned ? html`<p class="quiet">${t.learned}</p>` : nothing}
      <p><a href="${places.encodings}#${d.name}">${t.docs.more}</a></p>`;
  }

  private get popover_(): HTMLElement { return this.renderRoot.querySelector('#about')!; }

  // Not every browser finds the way back to what is in a shadow tree.
  private closed(event: ToggleEvent) {
    const lost = document.activeElement === document.body || this.popover_.contains(this.shadowRoot!.activeElement);
    if (event.newState === 'closed' && lost) this.opener?.focus({ preventScroll: true });
  }

  private async show(descriptor: Descriptor, button: HTMLElement) {
    this.shown = descriptor;
    this.opener = button;
    await this.updateComplete;
    this.popover_.showPopover();
    const at = button.getBoundingClientRect(), box = this.popover_.getBoundingClientRect();
    const left = Math.max(12, Math.min(at.right + 8, innerWidth - box.width - 12));
    const top = Math.max(12, Math.min(at.top - 20, innerHeight - box.height - 12));
    Object.assign(this.popover_.style, { left: `${left}px`, top: `${top}px` });
  }

  private point(spec: string) {
    this.pointed = spec;
    this.dispatchEvent(new CustomEvent('lw-lit', { detail: spec }));
  }

  private choose(specs: string[]) {
    const { presets } = this;
    const place = (spec: string) => (presets.includes(spec) ? presets.indexOf(spec) : presets.length);
    const sorted = [...new Set(specs)].sort((a, b) => place(a) - place(b));
    this.dispatchEvent(new CustomEvent('lw-encodings', { detail: sorted }));
  }

  private add(event: SubmitEvent) {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const spec = runnable(String(new FormData(form).get('spec')).trim(), this.catalogue);
    this.wrong = spec && this.fault(spec) ? spec : '';
    if (!spec || this.wrong) return;
    this.choose([...this.chosen, spec]);
    form.reset();
  }
}

declare global { interface HTMLElementTagNameMap { 'lengthwise-encodings': EncodingPicker } }
