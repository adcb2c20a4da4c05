/** The page's style sheet: no font, image or script of its own; light and dark; nothing wider than a phone. */
export const style = `
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1c1f23;--soft:#565d66;--rule:#dcdfe3;--grid:#e8eaed;--good:#0b6e4f;--bad:#a8321f;--warn:#8a5a00;--warnbg:#fff6e0;--accent:#0b57b0;
--s0:#0b62b5;--s1:#c8500a;--s2:#0a7a5c;--s3:#a1388a;--s4:#7a6200;--s5:#3d4f9f;--s6:#5c5c5c}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e8eaed;--soft:#a4abb3;--rule:#363c43;--grid:#2a2f35;--good:#5fd3a4;--bad:#ff9a86;--warn:#ffcf70;--warnbg:#33290f;--accent:#86b8ff;
--s0:#6cb4ff;--s1:#ff9d5c;--s2:#4fd0a5;--s3:#f08fd8;--s4:#e3c64a;--s5:#a9b6ff;--s6:#b8bec5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1160px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:40px 0 10px;padding-top:12px;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:0 0 6px;overflow-wrap:anywhere}
p{margin:0 0 10px;overflow-wrap:anywhere}
a{color:var(--accent)}
.note,figcaption{color:var(--soft);font-size:.84rem;line-height:1.4}
.kicker{color:var(--soft);font-size:.9rem}
.headline{font-size:1.08rem;max-width:62em}
.partial,.alarms{background:var(--warnbg);border-left:4px solid var(--warn);padding:8px 12px;margin:0 0 14px}
.partial p,.alarms ul{margin:0}
.alarms ul{padding-left:1.1em;overflow-wrap:anywhere}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 16px;padding:0;margin:12px 0 0;font-size:.92rem}
nav a{display:inline-block;padding:4px 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:10px;margin:14px 0}
.tiles div{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:8px 12px}
.tiles dt{color:var(--soft);font-size:.8rem}
.tiles dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
.tiles small{display:block;color:var(--soft);font-size:.76rem}
.grid-of{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:14px;align-items:start}
.pair{display:grid;grid-template-columns:minmax(0,1fr);gap:14px;align-items:start;margin-bottom:14px}
figure,article,.card{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px;margin:0;min-width:0}
figure.large,.card.below{margin-bottom:14px}
svg.chart{display:block;width:100%;height:auto;max-width:450px;margin:0 auto 4px}
svg.on-wide{display:none}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 14px;margin:0 0 6px;padding:0;font-size:.82rem;overflow-wrap:anywhere}
.legend svg{vertical-align:-1px;margin-right:6px;overflow:visible}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--soft);fill:none}
.tick,.label{fill:var(--soft);font-size:11px;font-family:inherit}.label{fill:var(--ink);font-size:12px}
.end{text-anchor:end}.middle{text-anchor:middle}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}.s5{--c:var(--s5)}.s6{--c:var(--s6)}
.line{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}.line.thin{stroke-width:1;opacity:.55}
.line.s1{stroke-dasharray:7 3}.line.s2{stroke-dasharray:2.5 2.5}.line.s3{stroke-dasharray:9 3 2 3}.line.s4{stroke-dasharray:12 4}.line.s5{stroke-dasharray:1 3}.line.s6{stroke-dasharray:5 2 1 2 1 2}
.band{fill:var(--c);opacity:.16}.bar{stroke:var(--c);stroke-width:1.8;fill:none}.marker{fill:var(--c);stroke:var(--card);stroke-width:1}
.box{fill:var(--c);opacity:.85}.hit{fill:transparent}
.scroll{overflow-x:auto;max-width:100%}.scroll+.scroll{margin-top:18px}
.scroll:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;color:var(--soft);padding:0 0 6px;font-size:.84rem}
th,td{padding:4px 8px 4px 0;border-bottom:1px solid var(--grid);text-align:right;vertical-align:top}
th:first-child{text-align:left}thead th{color:var(--soft);font-weight:600;vertical-align:bottom}tbody th{font-weight:500;overflow-wrap:break-word;min-width:6.5em}
td small{display:block;color:var(--soft);font-size:.92em;white-space:nowrap}
.text td:nth-child(2),.text th:nth-child(2){text-align:left}
details{margin-top:8px;font-size:.9rem}summary{cursor:pointer;padding:4px 0;color:var(--accent)}
details .scroll{max-height:340px;overflow:auto}
.facts{display:grid;grid-template-columns:minmax(0,max-content) minmax(0,1fr);gap:2px 16px;margin:0;font-size:.9rem}
.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
.episodes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:14px;align-items:start}
article ol{list-style:none;margin:0;padding:0}
article li{border-left:3px solid var(--rule);padding:2px 0 2px 10px;margin:0 0 8px}
article li.policy{border-color:var(--s0)}
.who{display:block;color:var(--soft);font-size:.78rem}
.said{white-space:pre-wrap;overflow-wrap:anywhere;font:.86rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-height:420px;overflow-y:auto}
.tag{color:var(--soft)}.right{color:var(--good)}.wrong{color:var(--bad)}.right,.wrong{font-size:.9rem;font-weight:600}
footer{margin-top:40px;color:var(--soft);font-size:.84rem}
@media (min-width:820px){svg.on-wide{display:block;max-width:none}svg.on-narrow{display:none}.pair{grid-template-columns:minmax(0,5fr) minmax(0,6fr)}}
@media print{body{background:#fff}figure,article{break-inside:avoid}nav{display:none}}
`.trim();
