// The page begins here: styles, then the application into the body.
import { mount } from 'svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/pages.css';
import './styles/editor.css';
import App from './App.svelte';

mount(App, { target: document.body });
