import { css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { base } from './theme.ts';
import { Localised } from './localised.ts';
import type { Lab, Run } from './lab.ts';
import type { Wardrobe } from './dress.ts';

// How far each run is: one row per encoding, one piece of its bar per seed.
@customElement('lengthwise-runs')
export class RunList extends Localised {
  static override styles = [base, css`
    :host { overflow: hidden auto; }
    ul { list-style: none; margin: 0; padding: 0; }
    li { display: grid; grid-template-columns: minmax(64px, max(34%, 140px)) 1fr minmax(96px, max-content); gap: 10px; align-items: center; height: 24px; font-size: 12px; }
    .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .bar { display: flex; gap: 2px; height: 4px; }
    .bar i { flex: 1; background: var(--lw-line); position: relative; }
    .bar i::after { content: ''; position: absolute; inset: 0; background: var(--hue); width: var(--part); }
    .words { color: var(--lw-muted); text-align: right; white-space: nowrap; }
    .error { color: var(--lw-pattern); white-space: normal; height: auto; font-size: 12px; display: block; }
  `];
  @property({ attribute: false }) lab!: Lab;
  @property({ attribute: false }) version = 0;
  @property({ attribute: false }) dress!: Wardrobe;
  @property({ attribute: false }) name: (spec: string) => string = (spec) => spec;

  override render() {
    return html`<ul aria-label=${this.t.runsTitle}>${this.lab.settings.encodings.map((encoding) => {
      const runs = this.lab.of(encoding), failed = runs.find((run) => run.error);
      return html`<li style="--hue: ${this.dress(encoding).stroke}">
        <span class="name" title=${this.name(encoding)}>${this.name(encoding)}</span>
        <span class="bar" role="progressbar" aria-label=${this.name(encoding)} aria-valuemin="0" aria-valuemax="100"
          aria-valuenow=${Math.round((100 * sum(runs.map((r) => r.step / r.steps))) / runs.length)}>
          ${runs.map((run) => html`<i class="hue" style="--part: ${(100 * run.step) / run.steps}%"></i>`)}</span>
        <span class="words">${this.words(runs)}</span></li>
        ${failed ? html`<li class="error" role="alert">${this.name(encoding)}${this.t.colon}<span lang="en">${failed.error}</span></li>` : ''}`;
    })}</ul>`;
  }

  private words(runs: Run[]): string {
    const { t } = this;
    const now = runs.find((run) => run.state === 'training') ?? runs.find((run) => run.state === 'waiting') ?? runs[0]!;
    if (now.state === 'training' && now.step === now.steps) return t.testing;
    if (now.state !== 'training' || !now.stepsPerSecond) return t.runState[now.state];
    return `${t.perSecond(Math.round(now.stepsPerSecond))} · ${t.left(t.seconds((now.steps - now.step) / now.stepsPerSecond))}`;
  }
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
declare global { interface HTMLElementTagNameMap { 'lengthwise-runs': RunList } }
