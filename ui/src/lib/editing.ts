// What the fields of the editor share.
import type { Problem } from './types';

export interface EditorContext {
  /** The problems at a field; none while it is being typed in. */
  problems: (path: string) => Problem[];
  typing: (path: string) => void;
  /** The job exists: secrets that are not typed are kept. */
  readonly existing: boolean;
}
