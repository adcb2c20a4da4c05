import { cardMark } from "./card.ts";
import { csvHead, reportCsv } from "./csv.ts";
import { reportMarkdown } from "./markdown.ts";
import { pageMark, reportPage } from "./page.ts";
import type { Report } from "./report.ts";

const jsonMark = `{\n  "format": "forager-report"`;

interface Format {
  readonly render: (report: Report) => string;
  /** What every file of this form that we wrote begins with. */
  readonly mark: string;
}

/** The forms of a report, by the ending of their files. */
export const reportFormats = {
  html: { render: reportPage, mark: pageMark },
  md: { render: reportMarkdown, mark: `---\n${cardMark}\n` },
  json: { render: (report: Report) => `${JSON.stringify(report, null, 2)}\n`, mark: jsonMark },
  csv: { render: reportCsv, mark: `${csvHead}\r\n` },
} as const satisfies Readonly<Record<string, Format>>;
export type ReportFormat = keyof typeof reportFormats;

export const reportFormatNames = Object.keys(reportFormats) as readonly ReportFormat[];
