# What both scripts need: opening logs, finding times in lines, printing times. Needs nothing but perl-base.
package loglib;
use strict;
use warnings;
use POSIX qw(floor strftime);

my %MONTH = do { my $n = 0; map { $_ => ++$n } qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec) };
my $CLOCK = qr/(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?/;
my $ZONE  = qr/(Z|[+-]\d\d:?\d\d)?/;

# Days since 1970-01-01 of a date of the Gregorian calendar (March-based years, 400-year eras).
sub days {
    my ($year, $month, $day) = @_;
    $year-- if $month <= 2;
    my $era = floor($year / 400);
    my $of_era = $year - $era * 400;
    my $of_year = floor((153 * ($month + ($month > 2 ? -3 : 9)) + 2) / 5) + $day - 1;
    return $era * 146097 + $of_era * 365 + floor($of_era / 4) - floor($of_era / 100) + $of_year - 719468;
}

sub offset {
    my $zone = shift // '';
    return 0 if $zone !~ /^([+-])(\d\d):?(\d\d)$/;
    return ($1 eq '-' ? -1 : 1) * ($2 * 60 + $3) * 60;
}

sub epoch {
    my ($year, $month, $day, $hour, $minute, $second, $fraction, $zone, $default_zone) = @_;
    return undef if $month < 1 || $month > 12 || $day < 1 || $day > 31 || $hour > 24 || $minute > 59 || $second > 60;
    my $seconds = days($year, $month, $day) * 86400 + $hour * 3600 + $minute * 60 + $second;
    $seconds += "0.$fraction" if defined $fraction && $fraction ne '';
    return $seconds - offset(defined $zone && $zone ne '' ? $zone : $default_zone);
}

# The time near the beginning of a line: seconds since 1970 in UTC, and the line without it. Nothing without one.
sub find_time {
    my ($line, $zone, $year) = @_;
    my $head = substr $line, 0, 200;
    my $time;
    if ($head =~ /(?<!\d)(\d{4})[-\/](\d\d)[-\/](\d\d)[T _]$CLOCK\s?$ZONE/) {
        $time = epoch($1, $2, $3, $4, $5, $6, $7, $8, $zone);
    }
    elsif ($head =~ /(?<!\d)(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)\s?(Z|[+-]\d\d:?\d\d)?(?![:\d])/) {
        $time = epoch($1, $2, $3, $4, $5, 0, undef, $6, $zone);
    }
    elsif ($head =~ /(?<!\d)(\d{1,2})\/([A-Z][a-z]{2})\/(\d{4}):$CLOCK ([+-]\d{4})/ && $MONTH{$2}) {
        $time = epoch($3, $MONTH{$2}, $1, $4, $5, $6, $7, $8, $zone);
    }
    elsif ($head =~ /(?<![A-Za-z])([A-Z][a-z]{2}) +(\d{1,2}) $CLOCK/ && $MONTH{$1}) {
        $time = epoch($year, $MONTH{$1}, $2, $3, $4, $5, $6, undef, $zone);
    }
    elsif ($head =~ /^[IWEF](\d\d)(\d\d) $CLOCK/) {
        $time = epoch($year, $1, $2, $3, $4, $5, $6, undef, $zone);
    }
    elsif ($head =~ /"(?:ts|time|timestamp|epoch)"\s*:\s*"?(1\d{9}(?:\.\d+)?)(\d{3})?"?\s*[,}]/) {
        return (defined $2 ? $1 + $2 / 1000 : $1 + 0, $line);
    }
    return if !defined $time;
    my ($from, $to) = ($-[0], $+[0]);
    my $rest = substr($line, 0, $from) . substr($line, $to);
    $rest =~ s/^\s*\[\s*\]\s*|\[\s*\]|^\s+//g;
    return ($time, $rest);
}

# A time as a person types it in an option.
sub parse_option_time {
    my ($text, $zone, $year) = @_;
    my ($time) = find_time($text =~ /^\d{4}-\d\d-\d\d$/ ? "$text 00:00" : $text, $zone, $year);
    return $time;
}

sub show_time {
    my ($time, $format) = @_;
    return strftime($format // '%Y-%m-%d %H:%M:%S', gmtime floor($time));
}

# Opens a log, also a compressed one; - is standard input. Nothing, with $! set, when it cannot be read.
sub open_log {
    my $path = shift;
    my $handle;
    if ($path eq '-') { binmode STDIN; return \*STDIN }
    if (-d $path) { $! = 21; return }
    open my $probe, '<', $path or return;
    close $probe;
    if ($path =~ /\.gz$/) { open $handle, '-|:raw', 'gzip', '-dc', '--', $path or return }
    else                  { open $handle, '<:raw', $path or return }
    return $handle;
}

# One line as text; bytes that are not UTF-8 stay what they are, and endless lines are cut.
sub clean {
    my $line = shift;
    $line = substr $line, 0, 8192;
    utf8::decode($line);
    $line =~ s/\e\[[0-9;]*[A-Za-z]//g;
    $line =~ s/[\x00-\x08\x0B-\x1F\x7F]//g;
    $line =~ s/\s+\z//;
    return $line;
}

sub thousands { my $text = reverse $_[0]; $text =~ s/(\d{3})(?=\d)/$1,/g; return scalar reverse $text }

1;
