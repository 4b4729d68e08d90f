import { render } from 'preact';
import { App } from './ui/app';

const root = document.getElementById('hall');
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
