import { html, nothing } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { customElement, state } from 'lit/decorators.js';
import { Site } from './site.ts';
import { catalogue } from './engine.ts';
import { places } from './places.ts';
import { kept } from './kept.ts';
import { fromHash, mayStart, toHash, type Settings } from './settings.ts';
import './experiment.ts';

const pauseBeforeStart = 3; // seconds: long enough to read and to say no

// The page of the experiment, and a link that holds its settings.
@customElement('lengthwise-page')
export class Page extends Site {
  @state() private settings?: Settings;
  @state() private copying?: 'linkCopied' | 'linkNotCopied';
  private link = 0; // counts the links that were followed: each makes the experiment anew
  private autostart = 0;
  private waits = false; // as the link said, until the visitor starts

  protected get tagline() { return this.t.tagline; }

  override async connectedCallback() {
    super.connectedCallback();
    addEventListener('hashchange', this.followLink);
    await this.followLink();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('hashchange', this.followLink);
  }

  private readonly followLink = async () => {
    const all = await catalogue().catch(() => []); // the experiment tells of a failure
    const saving = matchMedia('(prefers-reduced-data: reduce)').matches || (navigator as { connection?: { saveData?: boolean } }).connection?.saveData;
    this.autostart = mayStart(location.hash) && !saving ? pauseBeforeStart : 0;
    const latest = kept();
    this.settings = location.hash || !latest ? fromHash(location.hash, all) : latest.settings;
    this.waits = !mayStart(location.hash);
    this.link++;
  };

  private keepLink(settings: Settings) {
    this.copying = undefined;
    history.replaceState(null, '', toHash(settings) + (this.waits ? '&start=0' : ''));
    this.settings = settings;
  }

  private async copyLink() {
    this.keepLink(this.settings!);
    this.copying = await navigator.clipboard?.writeText(location.href).then(() => 'linkCopied' as const, () => undefined) ?? 'linkNotCopied';
  }

  override render() {
    const { t } = this;
    return html`
      ${this.bar(html`<h1>lengthwise</h1>`, html`<a class="link" href=${places.encodings}>${t.docs.title}</a>
        ${places.bench ? html`<a class="link" href=${places.bench}>${t.bench.title}</a>` : nothing}
        ${places.file ? html`<a class="link" href=${places.file} download>${t.keepFile}</a>` : nothing}
        <button class="link" data-action="link" @click=${this.copyLink}>${t[this.copying ?? 'copyLink']}</button><span role="status" class="unseen">${this.copying && t[this.copying]}</span>`)}
      <main>${this.settings ? keyed(this.link, html`<lengthwise-experiment .lang=${this.lang} .settings=${this.settings} .autostart=${this.autostart}
        @lw-settings=${(e: CustomEvent<Settings>) => this.keepLink(e.detail)} @lw-state=${(e: CustomEvent<string>) => { if (e.detail === 'loading') this.waits = false; }}></lengthwise-experiment>`) : ''}</main>`;
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-page': Page } }
