import type { RunEvent } from '../contract/event.ts'
import { contentText } from '../contract/message.ts'

export interface RunPrinterOptions {
  readonly write: (text: string) => void
  /** Returns where a tool comes from: the name of its Worker, or its source. */
  readonly origin: (tool: string) => string
}

const MOST_CHARACTERS = 600

/** Prints a run as it happens: each call with its arguments, its result, and the answer. */
export function runPrinter({ write, origin }: RunPrinterOptions): (event: RunEvent) => void {
  const calls = new Map<string, string>()
  // Text is written as it comes; an unfinished line is ended before anything else is printed.
  let text = ''
  const line = (label: string, rest: string) => {
    if (text !== '') write('\n')
    text = ''
    write(`  ${label.padEnd(8)}${oneLine(rest)}\n`)
  }
  return (event) => {
    switch (event.type) {
      case 'call.proposed':
      case 'call.issued':
        calls.set(event.callId, event.arguments)
        return
      case 'call.started':
        return line('call', `${inside(event)}${event.tool} (${origin(event.tool)}) ${calls.get(event.callId) ?? ''}`)
      case 'model.waiting':
        return line('wait', `The model fails (${event.code}); it is asked again in ${event.until - event.at} ms`)
      case 'call.progress':
        return event.message === undefined ? undefined : line('', event.message)
      case 'call.settled': {
        const { tool, ok, content = [], error, durationMs } = event
        const result = ok ? contentText(content) : `failed (${error?.code}): ${error?.message}`
        return line('result', `${inside(event)}${tool}, ${durationMs} ms: ${result}`)
      }
      case 'text.delta':
        text += event.text
        write(event.text)
        return
      case 'run.finished':
        if (event.answer.trim() !== text.trim()) write(`${text === '' ? '' : '\n'}${event.answer}`)
        write('\n')
        return
      default:
    }
  }
}

/** Marks the calls that a program makes. */
function inside({ parent }: { readonly parent?: string }): string {
  return parent === undefined ? '' : '└ '
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}… (${line.length} characters)` : line
}
