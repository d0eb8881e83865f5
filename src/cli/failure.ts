/** An error that ends a command: `message` says what is wrong, `hint` what to do about it. */
export class Failure extends Error {
  readonly hint: string

  constructor(message: string, hint = '') {
    super(message)
    this.name = 'Failure'
    this.hint = hint
  }
}

/** Thrown when a signal arrives before the command's work is done. */
export class Stopped extends Error {
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals) {
    super(`Stopped by ${signal}`)
    this.name = 'Stopped'
    this.signal = signal
  }
}
