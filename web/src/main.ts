import './page.ts';
