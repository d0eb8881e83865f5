import type { JSX } from 'preact'

/** Paths in a square of 16, by what they stand for. */
const PATHS = {
  chat: 'M3 3.5h10v7H7l-3 2.5v-2.5H3z',
  runs: 'M2.5 4h6M5 8h8.5M3.5 12h4',
  approval: 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4zM6 8l1.5 1.5L10.5 6',
  tool: 'M9.5 6.5L13 3a3.5 3.5 0 00-4.6 4.4L3 12.8 4.2 14l5.4-5.4A3.5 3.5 0 0014 4l-3 2.5z',
  usage: 'M3 13V9M6.5 13V3M10 13V7M13.5 13V5',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  running: 'M8 2a6 6 0 106 6',
  clock: 'M8 4.5V8l2.5 1.5M14 8A6 6 0 112 8a6 6 0 0112 0z',
  key: 'M10 9a3.5 3.5 0 10-3.2-2L2.5 11.5v2h2V12H6v-1.5L7.5 9',
  connect: 'M6 2v3M10 2v3M4 5h8v3a4 4 0 01-8 0zM8 12v2.5',
  moon: 'M13 9.5A5.5 5.5 0 016.5 3 5.5 5.5 0 1013 9.5z',
  back: 'M10 4L6 8l4 4',
  right: 'M6 4l4 4-4 4',
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  send: 'M8 13V3M4 7l4-4 4 4',
  stop: 'M4.5 4.5h7v7h-7z',
  ok: 'M3.5 8.5l3 3 6-7',
  cross: 'M4 4l8 8M12 4l-8 8',
  loop: 'M13 8a5 5 0 11-1.5-3.5M13 2v3h-3',
  model: 'M8 2l1.6 4.4L14 8l-4.4 1.6L8 14l-1.6-4.4L2 8l4.4-1.6z',
  bolt: 'M9 2L4 9h4l-1 5 5-7H8z',
  agent: 'M3 6h10v7H3zM8 6V3M6 9v1M10 9v1',
  program: 'M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3',
  search: 'M7 11.5a4.5 4.5 0 110-9 4.5 4.5 0 010 9zM10.5 10.5L14 14',
  plus: 'M8 3v10M3 8h10',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  warning: 'M8 2.5l6 11H2zM8 6.5V9.5M8 11.6v.01',
} as const

export type IconName = keyof typeof PATHS

interface IconProps {
  readonly name: IconName
  /** 12 px instead of 16. */
  readonly isSmall?: boolean
  readonly isSpinning?: boolean
}

/** A drawing that stands beside a word, which readers of the page hear instead. */
export function Icon({ name, isSmall = false, isSpinning = false }: IconProps): JSX.Element {
  return (
    <svg class={`i ${isSmall ? 's' : ''} ${isSpinning ? 'spin' : ''}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The sign of the product. */
export function Logo({ isLarge = false }: { readonly isLarge?: boolean }): JSX.Element {
  return (
    <svg class={isLarge ? 'logo' : ''} viewBox="0 0 20 20" aria-hidden="true">
      <rect width="20" height="20" rx="5" fill="var(--solid)" />
      <path
        d="M6 6h8M6 10h4M6 14h8M13 8l2 2-2 2"
        stroke="var(--on-solid)"
        stroke-width="1.75"
        fill="none"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
