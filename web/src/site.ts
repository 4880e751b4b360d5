import { css, html } from 'lit';
import { base } from './theme.ts';
import { Localised, languageOf, languages, type Language } from './localised.ts';

// What every page of the site has: a bar with its name, the language, light or dark; both choices are remembered.
export abstract class Site extends Localised {
  static override styles = [base, css`
    :host { padding: 14px clamp(16px, 2.4vw, 40px) 40px; max-width: 1680px; margin: auto; }
    .bar { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 18px; margin-bottom: 22px; }
    h1 { font: 600 19px/1.4 var(--lw-serif); margin: 0; letter-spacing: -.01em; }
    .bar p { margin-right: auto; }
    .bar .link { text-decoration: none; }
    .bar .link[aria-pressed=true] { color: var(--lw-ink); font-weight: 600; }
    .group { display: flex; gap: 10px; }
    @media print { .bar .link, .group { display: none; } }
  `];
  protected abstract get tagline(): string;

  override connectedCallback() {
    super.connectedCallback();
    this.theme(recall('theme') ?? '');
    this.speak(languageOf(recall('language') ?? navigator.language));
  }

  protected speak(language: Language) {
    this.lang = language;
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
    document.title = `lengthwise: ${this.tagline}`;
  }

  private theme(name: string) { document.documentElement.dataset.theme = name; }

  private toggleTheme() {
    const dark = getComputedStyle(document.documentElement).colorScheme === 'dark'
      || (document.documentElement.dataset.theme === '' && matchMedia('(prefers-color-scheme: dark)').matches);
    const next = dark ? 'light' : 'dark';
    this.theme(next);
    remember('theme', next);
  }

  protected bar(name: unknown, links: unknown) {
    const { t } = this;
    return html`<header class="bar">${name}<p class="quiet">${this.tagline}</p>${links}
      <button class="link" @click=${this.toggleTheme}>${t.theme}</button>
      <span class="group" role="group" aria-label=${t.language}>${Object.entries(languages).map(([code, title]) => html`
        <button class="link" lang=${code} aria-pressed=${this.language === code}
          @click=${() => { this.speak(code as Language); remember('language', code); }}>${title}</button>`)}</span></header>`;
  }
}

// Storage may be forbidden; then nothing is remembered.
function recall(key: string): string | null {
  try { return localStorage.getItem(`lengthwise-${key}`); } catch { return null; }
}
function remember(key: string, value: string): void {
  try { localStorage.setItem(`lengthwise-${key}`, value); } catch { /* as above */ }
}
