import { css, html, nothing } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { Lengthwise } from 'lengthwise';
import { texts } from 'lengthwise/texts';
import { doors, type Door } from '../theme.ts';
import { Site } from '../site.ts';
import { titleOf } from '../dress.ts';
import { places } from '../places.ts';
import { engine, type Descriptor } from '../engine.ts';
import './atlas.ts';
import './entry.ts';
import './options.ts';

type Group = Door | 'none';

// All encodings by the door they open, or the one that the link names: encodings.html#rope.
@customElement('lengthwise-docs')
export class Docs extends Site {
  static override styles = [...Site.styles, css`
    .bar h1 a, .bar strong a { color: inherit; text-decoration: none; }
    .bar strong { font: 600 19px/1.4 var(--lw-serif); letter-spacing: -.01em; }
    .lead { max-width: 68ch; margin-bottom: 24px; }
    .one { display: grid; grid-template-columns: 216px minmax(0, 1060px); gap: 48px; align-items: start; }
    nav { font-size: 13px; position: sticky; top: 14px; max-height: calc(100vh - 90px); overflow: hidden auto; padding: 3px; }
    nav summary { cursor: pointer; min-height: 24px; color: var(--lw-muted); }
    h2 { font: 600 17px/1.3 var(--lw-serif); }
    h2 span { font: 400 13px/1.4 var(--lw-sans); color: var(--lw-muted); display: block; }
    nav h2 { font: 600 12px/1.4 var(--lw-sans); color: var(--lw-muted); margin: 12px 0 2px; }
    .door { border-top: 2px solid var(--hue); padding-top: 8px; break-inside: avoid; }
    ul { list-style: none; margin: 8px 0 0; padding: 0; }
    nav ul { margin: 0; }
    li a { display: block; padding: 3px 0; min-height: 24px; color: inherit; text-decoration: none; }
    li a:hover { text-decoration: underline; text-decoration-color: var(--hue); text-underline-offset: 3px; }
    nav a[aria-current] { font-weight: 600; box-shadow: -3px 0 var(--hue); padding-left: 8px; margin-left: 3px; }
    code { font-size: 12px; color: var(--lw-muted); }
    .groups { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 290px), 1fr)); gap: 34px 40px; align-items: start; }
    lengthwise-atlas { margin-top: 44px; max-width: 1060px; }
    .error { color: var(--lw-pattern); }
    @media (max-width: 860px) { .one { grid-template-columns: minmax(0, 1fr); gap: 18px; } nav { position: static; max-height: none; } }
    @media print { nav { display: none; } .one { display: block; } }
  `];
  @state() private lengthwise?: Lengthwise;
  @state() private problem = '';
  @state() private name = '';
  private catalogue: Descriptor[] = [];
  private readonly narrow = matchMedia('(max-width: 860px)');

  protected get tagline() { return this.t.docs.title; }

  override async connectedCallback() {
    super.connectedCallback();
    addEventListener('hashchange', this.follow);
    this.narrow.addEventListener('change', this.fold);
    try {
      const lengthwise = await engine();
      this.catalogue = lengthwise.encodings(texts);
      this.lengthwise = lengthwise;
      this.follow();
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }
  override disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('hashchange', this.follow);
    this.narrow.removeEventListener('change', this.fold);
  }

  private readonly fold = () => this.requestUpdate();

  private readonly follow = async (event?: Event) => {
    this.name = unescaped(location.hash.slice(1));
    if (!event) return;
    await this.updateComplete;
    scrollTo(0, 0);
    this.renderRoot.querySelector('lengthwise-entry')?.updateComplete.then(() =>
      this.renderRoot.querySelector('lengthwise-entry')!.renderRoot.querySelector<HTMLElement>('h1')!.focus({ preventScroll: true }));
  };

  protected override updated() {
    const shown = this.shown;
    this.revealCurrent();
    document.title = shown ? `${titleOf(shown, this.language)} · lengthwise` : `lengthwise: ${this.tagline}`;
  }

  /** The list of all encodings scrolls by itself. */
  private revealCurrent() {
    const list = this.renderRoot.querySelector('nav'), item = list?.querySelector('a[aria-current]');
    if (!list || !item) return;
    const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) list.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
  }

  private get shown(): Descriptor | undefined { return this.catalogue.find((d) => d.name === this.name.toLowerCase()); }

  override render() {
    const { t, shown } = this;
    const name = html`<a href=${places.lab}>lengthwise</a>`;
    return html`${this.bar(shown ? html`<strong>${name}</strong>` : html`<h1>${name}</h1>`, html`<a class="link" href=${places.lab}>${t.docs.toLab}</a>
        ${places.bench ? html`<a class="link" href=${places.bench}>${t.bench.title}</a>` : nothing}`)}
      <main>${this.problem ? html`<p class="error" role="alert" lang="en">${this.problem}</p>` : nothing}
        ${!this.lengthwise ? nothing : shown ? this.one(shown, this.lengthwise) : this.all()}</main>`;
  }

  private one(descriptor: Descriptor, lengthwise: Lengthwise) {
    const list = html`<a class="link" href="#">${this.t.docs.all}</a>${this.groups((d) => d.doors.slice(0, 1)).map(([door, members]) => html`
      <section style="--hue: var(--lw-${door})"><h2>${this.word(door)}</h2>
        <ul>${members.map((d) => html`<li><a href="#${d.name}" aria-current=${d === descriptor ? 'page' : nothing}>${titleOf(d, this.language)}</a></li>`)}</ul></section>`)}`;
    return html`<div class="one"><nav aria-label=${this.t.docs.title}>${this.narrow.matches ? html`<details><summary>${this.t.docs.all}</summary>${list}</details>` : list}</nav>
      <lengthwise-entry .lang=${this.lang} .descriptor=${descriptor} .catalogue=${this.catalogue} .engine=${lengthwise}></lengthwise-entry></div>`;
  }

  private all() {
    return html`${this.name ? html`<p class="error" role="alert">${this.t.docs.unknown(this.name)}</p>` : nothing}
      <p class="lead quiet">${this.t.docs.lead(this.catalogue.length)}</p>
      <div class="groups">${this.groups((d) => d.doors).map(([door, members]) => html`
        <section class="door" style="--hue: var(--lw-${door})"><h2>${this.word(door)}<span>${door === 'none' ? '' : this.t.doorNote[door]}</span></h2>
          <ul>${members.map((d) => html`<li><a href="#${d.name}">${titleOf(d, this.language)} <code>${d.name}</code></a></li>`)}</ul></section>`)}</div>
      <lengthwise-atlas .lang=${this.lang} .catalogue=${this.catalogue}></lengthwise-atlas>`;
  }

  private word(door: Group): string { return door === 'none' ? this.t.noDoor : this.t.door[door]; }

  private groups(of: (d: Descriptor) => Door[]): [Group, Descriptor[]][] {
    const members = (door: Group) => this.catalogue.filter((d) => (door === 'none' ? d.doors.length === 0 : of(d).includes(door)));
    return (['none', ...doors] as Group[]).map((door): [Group, Descriptor[]] => [door, members(door)]).filter(([, all]) => all.length > 0);
  }
}

/** What is no escape stays as it is. */
function unescaped(text: string): string {
  try { return decodeURIComponent(text); } catch { return text; }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-docs': Docs } }
