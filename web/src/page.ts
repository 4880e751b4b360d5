import { html, nothing } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { Site } from './site.ts';
import { catalogue } from './engine.ts';
import { places } from './places.ts';
import { fromHash, mayStart, toHash, type Settings } from './settings.ts';
import './experiment.ts';

const pauseBeforeStart = 3; // seconds: long enough to read and to say no

// The page of the experiment, and a link that holds its settings.
@customElement('lengthwise-page')
export class Page extends Site {
  @state() private settings?: Settings;
  @state() private copied = false;
  private autostart = 0;

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
    this.settings = fromHash(location.hash, all);
  };

  private keepLink(event: CustomEvent<Settings>) {
    this.copied = false;
    history.replaceState(null, '', toHash(event.detail));
    this.settings = event.detail;
  }

  private async copyLink() {
    history.replaceState(null, '', toHash(this.settings!));
    await navigator.clipboard?.writeText(location.href).catch(() => {}); // refused: the address bar has it all the same
    this.copied = true;
  }

  override render() {
    const { t } = this;
    return html`
      ${this.bar(html`<h1>lengthwise</h1>`, html`<a class="link" href=${places.encodings}>${t.docs.title}</a>
        ${places.bench ? html`<a class="link" href=${places.bench}>${t.bench.title}</a>` : nothing}
        ${places.file ? html`<a class="link" href=${places.file} download>${t.keepFile}</a>` : nothing}
        <button class="link" @click=${this.copyLink}><span role="status">${this.copied ? t.linkCopied : t.copyLink}</span></button>`)}
      <main>${this.settings ? html`<lengthwise-experiment .lang=${this.lang} .settings=${this.settings} .autostart=${this.autostart}
        @lw-settings=${this.keepLink}></lengthwise-experiment>` : ''}</main>`;
  }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-page': Page } }
