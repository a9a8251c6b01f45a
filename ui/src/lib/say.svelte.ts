// What a screen reader is told: one polite region of the shell.

class Voice {
  text = $state('');
  say(text: string): void {
    // The same words twice are only read twice if they changed in between.
    this.text = '';
    setTimeout(() => (this.text = text), 50);
  }
}

export const voice = new Voice();
