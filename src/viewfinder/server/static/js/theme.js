// Not a module: it runs before anything is painted, so that no light page flashes in the dark.
document.documentElement.dataset.theme = localStorage.getItem("viewfinder-theme") || "system";
