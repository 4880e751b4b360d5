// Both pages in one file: the experiment, or with ?encodings the encodings.
import './page.ts';
import './docs/docs.ts';
import { places } from './places.ts';

document.body.prepend(document.createElement(location.search === places.encodings ? 'lengthwise-docs' : 'lengthwise-page'));
