// All texts of the page come from one catalogue. Another language is another object of the same type.
import { en } from './en';

export type Texts = typeof en;
export const t: Texts = en;
