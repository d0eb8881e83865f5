/** The SQL table of one hotel's bookings. Days are written YYYY-MM-DD; prices are in whole euros. */
import { nightsOf } from './day.ts'

/** The number of rooms of each kind, and the price of a night. */
export const ROOMS = {
  single: { count: 4, price: 90 },
  double: { count: 3, price: 120 },
  suite: { count: 1, price: 240 },
} as const

export type RoomKind = keyof typeof ROOMS

export interface NewBooking {
  readonly guest: string
  readonly room: RoomKind
  /** The first night. */
  readonly checkIn: string
  /** The day after the last night. */
  readonly checkOut: string
}

export interface Booking extends NewBooking {
  readonly number: number
  readonly price: number
  readonly state: 'confirmed' | 'cancelled'
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS bookings (
    number INTEGER PRIMARY KEY,
    guest TEXT NOT NULL,
    room TEXT NOT NULL,
    check_in TEXT NOT NULL,
    check_out TEXT NOT NULL,
    price INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'confirmed' CHECK (state IN ('confirmed', 'cancelled'))
  ) STRICT;
  CREATE INDEX IF NOT EXISTS bookings_by_day ON bookings (room, check_out) WHERE state = 'confirmed';
`

/** A booking that every hotel has from the start, to try the tools with. New bookings are numbered after it. */
const SAMPLE = `
  INSERT OR IGNORE INTO bookings (number, guest, room, check_in, check_out, price)
  VALUES (12345, 'Ada Okafor', 'double', '2027-03-12', '2027-03-15', 360);
`

const BOOKING = 'number, guest, room, check_in AS checkIn, check_out AS checkOut, price, state'

export function createTable(sql: SqlStorage): void {
  sql.exec(SCHEMA)
  sql.exec(SAMPLE)
}

export function readBooking(sql: SqlStorage, number: number): Booking | undefined {
  return rows(sql, `SELECT ${BOOKING} FROM bookings WHERE number = ?`, number)[0]
}

/** Books a room, unless all rooms of its kind are taken on one of the nights. */
export function addBooking(sql: SqlStorage, booking: NewBooking): Booking | 'full' {
  const { guest, room, checkIn, checkOut } = booking
  const { count, price } = ROOMS[room]
  const near = `SELECT ${BOOKING} FROM bookings WHERE state = 'confirmed' AND room = ? AND check_out > ? AND check_in < ?`
  const others = rows(sql, near, room, checkIn, checkOut)
  const nights = nightsOf(checkIn, checkOut)
  const isFull = (night: string) => others.filter((other) => staysOn(other, night)).length >= count
  if (nights.some(isFull)) return 'full'
  const insert = `INSERT INTO bookings (guest, room, check_in, check_out, price) VALUES (?, ?, ?, ?, ?) RETURNING ${BOOKING}`
  const [added] = rows(sql, insert, guest, room, checkIn, checkOut, nights.length * price)
  if (!added) throw new Error('An insertion returned no row')
  return added
}

/** Cancels a booking, even if it is cancelled already. Returns undefined if the number is unknown. */
export function markCancelled(sql: SqlStorage, number: number): Booking | undefined {
  const cancel = `UPDATE bookings SET state = 'cancelled' WHERE number = ? RETURNING ${BOOKING}`
  return rows(sql, cancel, number)[0]
}

function staysOn({ checkIn, checkOut }: Booking, night: string): boolean {
  return checkIn <= night && night < checkOut
}

interface Row extends Booking, Record<string, SqlStorageValue> {}

function rows(sql: SqlStorage, query: string, ...bindings: SqlStorageValue[]): Row[] {
  return sql.exec<Row>(query, ...bindings).toArray()
}
