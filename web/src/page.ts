import { css, html } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { base } from './theme.ts';
import { Localised, languageOf, languages, type Language } from './localised.ts';
import { catalogue } from './engine.ts';
import { fromHash, mayStart, toHash, type Settings } from './settings.ts';
import './experiment.ts';

const pauseBeforeStart = 3; // seconds: long enough to read and to say no

// The page: name, language, light or dark, and a link that holds the settings.
@customElement('lengthwise-page')
export class Page extends Localised {
  static override styles = [base, css`
    :host { padding: 14px clamp(16px, 2.4vw, 40px) 40px; max-width: 1680px; margin: auto; }
    .bar { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 18px; margin-bottom: 22px; }
    h1 { font: 600 19px/1.4 var(--lw-serif); margin: 0; letter-spacing: -.01em; }
    .bar p { margin-right: auto; }
    .bar .link { text-decoration: none; }
    .bar .link[aria-pressed=true] { color: var(--lw-ink); font-weight: 600; }
    .group { display: flex; gap: 10px; }
  `];
  @state() private settings?: Settings;
  @state() private copied = false;
  private autostart = 0;

  override async connectedCallback() {
    super.connectedCallback();
    this.theme(recall('theme') ?? '');
    this.speak(languageOf(recall('language') ?? navigator.language));
    addEventListener('hashchange', this.followLink);
    await this.followLink();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('hashchange', this.followLink);
  }

  private readonly followLink = async () => {
    const names = await catalogue().then((all) => all.map((d) => d.name), () => []); // the experiment tells of a failure
    const saving = matchMedia('(prefers-reduced-data: reduce)').matches || (navigator as { connection?: { saveData?: boolean } }).connection?.saveData;
    this.autostart = mayStart(location.hash) && !saving ? pauseBeforeStart : 0;
    this.settings = fromHash(location.hash, names);
  };

  private speak(language: Language) {
    this.lang = language;
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
    document.title = `lengthwise: ${this.t.tagline}`;
  }

  private theme(name: string) { document.documentElement.dataset.theme = name; }

  private toggleTheme() {
    const dark = getComputedStyle(document.documentElement).colorScheme === 'dark'
      || (document.documentElement.dataset.theme === '' && matchMedia('(prefers-color-scheme: dark)').matches);
    const next = dark ? 'light' : 'dark';
    this.theme(next);
    remember('theme', next);
  }

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
      <header class="bar"><h1>lengthwise</h1><p class="quiet">${t.tagline}</p>
        <button class="link" @click=${this.copyLink}><span role="status">${this.copied ? t.linkCopied : t.copyLink}</span></button>
        <button class="link" @click=${this.toggleTheme}>${t.theme}</button>
        <span class="group" role="group" aria-label=${t.language}>${Object.entries(languages).map(([code, title]) => html`
          <button class="link" lang=${code} aria-pressed=${this.language === code}
            @click=${() => { this.speak(code as Language); remember('language', code); }}>${title}</button>`)}</span></header>
      <main>${this.settings ? html`<lengthwise-experiment .lang=${this.lang} .settings=${this.settings} .autostart=${this.autostart}
        @lw-settings=${this.keepLink}></lengthwise-experiment>` : ''}</main>`;
  }
}

// Storage may be forbidden; then nothing is remembered.
function recall(key: string): string | null {
  try { return localStorage.getItem(`lengthwise-${key}`); } catch { return null; }
}
function remember(key: string, value: string): void {
  try { localStorage.setItem(`lengthwise-${key}`, value); } catch { /* as above */ }
}
declare global { interface HTMLElementTagNameMap { 'lengthwise-page': Page } }
