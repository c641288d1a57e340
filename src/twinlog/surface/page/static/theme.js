// Before anything is drawn, so that a dark room stays dark while the page loads.
try {
  const kept = localStorage.getItem("twinlog-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* a browser that keeps nothing follows the system */ }
