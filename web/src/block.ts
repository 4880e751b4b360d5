import { css, html, svg } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { base, doors as allDoors, type Door } from './theme.ts';
import { Localised } from './localised.ts';

// A transformer block, drawn as a signal's way from the token to what is read; the doors in `doors` are lit.
@customElement('lengthwise-block')
export class Block extends Localised {
  static override styles = [base, css`
    :host { max-width: 344px; }
    svg { display: block; width: 100%; height: auto; font: 11px var(--lw-sans); }
    .wire { fill: none; stroke: var(--lw-muted); stroke-width: 1; }
    .box { fill: var(--lw-paper); stroke: var(--lw-line); }
    .word { fill: var(--lw-muted); text-anchor: middle; }
    .math { font-family: var(--lw-serif); font-style: italic; font-size: 13px; }
    .door rect { fill: var(--lw-paper); stroke: var(--lw-line); stroke-width: 1; transition: fill .25s, stroke .25s; }
    .door text { fill: var(--lw-muted); text-anchor: middle; opacity: .8; }
    .door path { stroke: var(--lw-line); fill: none; }
    .door.open rect { fill: color-mix(in oklab, var(--hue), var(--lw-paper) 78%); stroke: var(--hue); stroke-width: 1.5; }
    .door.open text { fill: var(--lw-ink); font-weight: 600; opacity: 1; }
    .door.open path { stroke: var(--hue); stroke-width: 1.5; }
  `];
  @property({ attribute: false }) open: readonly string[] = [];

  override render() {
    const { t } = this;
    const opened = allDoors.filter((door) => this.open.includes(door)).map((door) => t.door[door]);
    return html`<svg viewBox="0 0 344 176" role="img" aria-label="${t.block.title}${t.colon}${opened.join(', ') || t.noDoor}">
      ${wire('M56 96H70')}${wire('M116 96C132 96 126 64 144 64H196')}${wire('M116 96C130 96 128 84 144 84H196')}
      ${wire('M116 96C132 96 126 120 144 120H276C284 120 284 116 284 108')}${wire('M254 76C264 76 262 96 272 96')}
      ${svg`<text class="word math" x="148" y="60">q</text><text class="word math" x="148" y="80">k</text><text class="word math" x="148" y="116">v</text>`}
      ${box(6, 84, 50, t.block.token)}${box(70, 84, 46, 'x')}${box(272, 84, 62, t.block.read)}
      ${svg`<rect class="box" x="196" y="48" width="58" height="60" rx="4"/>
        ${Array.from({ length: 5 }, (_, i) => Array.from({ length: i + 1 }, (_, j) =>
          svg`<rect x=${210 + j * 6} y=${68 + i * 6} width="5" height="5" fill="var(--lw-muted)" opacity=${0.25 + 0.09 * (5 - (i - j))}/>`))}
        <text class="word" x="225" y="62">${t.block.scores}</text>`}
      ${this.door('ids', 31, 136, 'M31 136V108')}
      ${this.door('input', 93, 136, 'M93 136V108')}
      ${this.door('rotation', 150, 22, 'M172 42V64M172 64V84')}
      ${this.door('bias', 215, 4, 'M218 24V48')}
      ${this.door('content', 279, 4, 'M262 24L244 48')}
      ${this.door('scale', 312, 34, 'M283 46L254 56')}
      ${this.door('pattern', 225, 148, 'M225 148V108')}
      ${this.door('value', 310, 136, 'M310 136V108')}
    </svg>`;
  }

  private door(door: Door, x: number, y: number, path: string) {
    const half = 29;
    return svg`<g class="door ${this.open.includes(door) ? 'open' : ''}" style="--hue: var(--lw-${door})">
      <title>${this.t.doorNote[door]}</title>
      <path d=${path}/><rect x=${x - half} y=${y} width=${2 * half} height="20" rx="10"/>
      <text x=${x} y=${y + 14}>${this.t.door[door]}</text></g>`;
  }
}

const wire = (d: string) => svg`<path class="wire" d=${d}/>`;
const box = (x: number, y: number, width: number, word: string) => svg`<rect class="box" x=${x} y=${y} width=${width} height="24" rx="4"/>
  <text class="word ${word === 'x' ? 'math' : ''}" x=${x + width / 2} y=${y + 16}>${word}</text>`;
declare global { interface HTMLElementTagNameMap { 'lengthwise-block': Block } }
