/** What the pages on errors say about one error code, as Markdown. */
export interface ErrorText {
  readonly cause: string
  /** What the reader can do about it. */
  readonly remedy: string
  /** The HTTP status, if the code is that of an HTTP answer. */
  readonly status?: number
}

/** The texts of one subject, by error code. */
export type ErrorTexts = Readonly<Record<string, ErrorText>>

/** Makes the text of an error that HTTP answers have. */
export function http(status: number, cause: string, remedy: string): ErrorText {
  return { status, cause, remedy }
}

/** Makes the text of an error that has no HTTP status of its own. */
export function errorText(cause: string, remedy: string): ErrorText {
  return { cause, remedy }
}
